//! How large models and batches can be: larger ones are refused before they take memory.

use rl755_run::SettingError;

/// The most parameters of a model, 4 GB of weights.
const MOST_PARAMETERS: usize = 1_000_000_000;

/// The most numbers in the outputs of all layers for what is computed at once, 32 GB.
const MOST_ACTIVATIONS: usize = 8_000_000_000;

/// How large a model is that memory can hold.
#[derive(Clone, Copy, Debug)]
pub struct ModelSize {
    parameters: usize,
    activations: usize,
}

impl ModelSize {
    /// Of a model with that many `parameters`, whose layers give about that many numbers for one
    /// example, with the example itself. The error calls it `example`. `activations` is called only
    /// where the parameters are few enough, as it may look at them, which draws them.
    ///
    /// # Errors
    /// Says what is too large.
    pub fn new(
        parameters: usize,
        example: &str,
        activations: impl FnOnce() -> usize,
    ) -> Result<Self, String> {
        let refuse = |what: String, most: usize| {
            let advice = "make the model or what it sees smaller";
            Err(format!("{what}, of which {most} are allowed; {advice}"))
        };
        if parameters > MOST_PARAMETERS {
            return refuse(
                format!("the model would have {parameters} parameters"),
                MOST_PARAMETERS,
            );
        }
        let activations = activations();
        if activations > MOST_ACTIVATIONS {
            let what = format!("its layers would give {activations} numbers for {example}");
            return refuse(what, MOST_ACTIVATIONS);
        }
        Ok(Self { parameters, activations })
    }

    /// Numbers in its parameters.
    pub fn parameters(self) -> usize {
        self.parameters
    }

    /// Checks that `count` examples, the setting `field`, fit into the memory of `devices` devices,
    /// each of which needs `least` of them.
    ///
    /// # Errors
    /// When there are too few or too many.
    pub fn check_batch(
        self,
        field: &'static str,
        count: usize,
        least: usize,
        devices: usize,
    ) -> Result<(), SettingError> {
        let most = MOST_ACTIVATIONS / self.activations.max(1);
        let [least, most] = [least, most].map(|count| count.saturating_mul(devices));
        if (least..=most).contains(&count) {
            return Ok(());
        }
        let expected = format!("from {least} to {most} for this model on {devices} device(s)");
        Err(SettingError::new(field, count, expected))
    }
}
