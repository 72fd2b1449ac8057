//! Hyper-parameters as JSON: defaults filled in, unknown fields refused.

use burn::tensor::Device;
use rl755_nn::num_parameters;

use crate::{SequenceError, SequenceNetwork, Sizes};

/// Parameters that a model has at most: with more, a slip of the finger would take all memory.
const MOST_PARAMETERS: usize = 1_000_000_000;

/// A network with fresh weights, which are drawn when they are first looked at.
///
/// # Errors
/// On a bad value in `config`, or when its values give too many parameters together.
pub(crate) fn network<N: SequenceNetwork>(
    config: &N::Config,
    sizes: &Sizes,
    device: &Device,
) -> Result<N, SequenceError> {
    let network = N::init(config, sizes, device)?;
    let parameters = num_parameters(&network);
    if parameters > MOST_PARAMETERS {
        let reason = format!(
            "the model would have {parameters} parameters; it can have {MOST_PARAMETERS} at most"
        );
        return Err(SequenceError::config(N::NAME, reason));
    }
    Ok(network)
}

/// The hyper-parameters in `value`; null stands for the defaults.
pub(crate) fn parse<N: SequenceNetwork>(
    value: &serde_json::Value,
) -> Result<N::Config, SequenceError> {
    if value.is_null() {
        return Ok(N::Config::default());
    }
    serde_json::from_value(value.clone()).map_err(|e| SequenceError::config(N::NAME, e))
}

/// `config` with every field.
pub(crate) fn resolved<N: SequenceNetwork>(
    config: &N::Config,
) -> Result<serde_json::Value, SequenceError> {
    serde_json::to_value(config).map_err(|e| SequenceError::config(N::NAME, e))
}

/// The defaults of `N`.
pub(crate) fn default_value<N: SequenceNetwork>() -> Result<serde_json::Value, SequenceError> {
    resolved::<N>(&N::Config::default())
}

/// Checks that `value` is from 1 to 65,536: with more, a slip of the finger would take all memory.
pub(crate) fn check_size(model: &str, field: &str, value: usize) -> Result<(), SequenceError> {
    const MOST: usize = 65_536;
    if (1..=MOST).contains(&value) {
        return Ok(());
    }
    Err(SequenceError::config(model, format!("{field} is {value}; it must be from 1 to {MOST}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Infilling, LstmNetwork, MdnRnn, Retrieval, Transformer};

    fn check<N: SequenceNetwork>(config: serde_json::Value) {
        let sizes = Sizes { latent: 32, action: 3, sequence_length: 64 };
        let config = parse::<N>(&config).unwrap();
        let error = network::<N>(&config, &sizes, &Device::flex()).unwrap_err().to_string();
        let expected = format!("config of {}: the model would have ", N::NAME);
        assert!(error.starts_with(&expected), "{error}");
        assert!(error.ends_with(" parameters; it can have 1000000000 at most"), "{error}");
    }

    #[test]
    fn models_of_too_many_parameters_are_refused_before_they_take_memory() {
        check::<MdnRnn>(serde_json::json!({ "hidden_size": 65_536 }));
        check::<LstmNetwork>(serde_json::json!({ "hidden_size": 65_536 }));
        check::<Transformer>(serde_json::json!({ "hidden_size": 65_536 }));
        check::<Retrieval>(serde_json::json!({ "transformer": { "hidden_size": 65_536 } }));
        check::<Infilling>(serde_json::json!({ "channels": 65_536, "depth": 0 }));
    }
}
