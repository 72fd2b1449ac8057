//! A model, its optimiser, and one training step of both.

use std::{ops::Range, path::Path};

use burn::{
    module::Module,
    tensor::{Device, Tensor},
};
use rl755_run::{SettingError, TrainingError, WEIGHTS};
use serde::{Deserialize, Serialize};

use crate::{
    Schedule,
    adam::{Adam, Constants},
    copy_weights, first_not_finite,
    gradients::Gradients,
    load_weights, num_parameters,
    optimizer_state::{load_moments, save_moments},
    save_weights, seeded, with_examples,
};

/// Adam (Kingma & Ba 2015), as every model here is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimizerConfig {
    /// Step size.
    pub learning_rate: f64,
    /// Decay of the mean of the gradients, 0.9.
    pub beta_1: f64,
    /// Decay of the mean of their squares, 0.999.
    pub beta_2: f64,
    /// Added to the root of that mean, 1e-8.
    pub epsilon: f64,
    /// The norm of all gradients together is scaled down to this; `None` leaves them.
    pub max_gradient_norm: Option<f64>,
    /// How the step size changes over the training.
    #[serde(default)]
    pub schedule: Schedule,
    /// Decay of the moving average of the weights, in 0..1; `None` keeps none. Where there is one,
    /// it is what is evaluated, and what later stages load.
    #[serde(default)]
    pub ema_decay: Option<f64>,
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self {
            learning_rate: 1e-3,
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            max_gradient_norm: None,
            schedule: Schedule::default(),
            ema_decay: None,
        }
    }
}

impl OptimizerConfig {
    /// Rejects numbers that nothing can be trained with.
    ///
    /// # Errors
    /// When one is out of its range.
    pub fn check(&self) -> Result<(), SettingError> {
        let above_0 = |field, value: f64| {
            let good = value.is_finite() && value > 0.0;
            if good { Ok(()) } else { Err(SettingError::new(field, value, "a number above 0")) }
        };
        let from_0_to_1 = |field, value: f64| {
            let good = (0.0..1.0).contains(&value);
            if good { Ok(()) } else { Err(SettingError::new(field, value, "in 0..1")) }
        };
        above_0("learning_rate", self.learning_rate)?;
        above_0("epsilon", self.epsilon)?;
        from_0_to_1("beta_1", self.beta_1)?;
        from_0_to_1("beta_2", self.beta_2)?;
        self.max_gradient_norm.map_or(Ok(()), |norm| above_0("max_gradient_norm", norm))?;
        self.ema_decay.map_or(Ok(()), |decay| from_0_to_1("ema_decay", decay))?;
        self.schedule.check(self.learning_rate)
    }
}

/// What a model's loss function gives.
#[derive(Clone, Debug)]
pub struct Losses {
    /// What is minimised, `[1]`.
    pub total: Tensor<1>,
    /// Its parts by name, to log, `[1]` each.
    pub parts: Vec<(&'static str, Tensor<1>)>,
}

impl Losses {
    /// The values as metrics: `loss`, then each part.
    pub fn metrics(&self) -> Vec<(String, f64)> {
        let total = std::iter::once(("loss", &self.total));
        total
            .chain(self.parts.iter().map(|(name, value)| (*name, value)))
            .map(|(name, value)| {
                (name.to_owned(), f64::from(value.clone().detach().into_scalar::<f32>()))
            })
            .collect()
    }
}

/// A model in training. One without parameters can be stepped, saved and loaded like any other;
/// nothing of it changes.
pub struct Learner<M> {
    /// `None` only while a step moves it.
    model: Option<M>,
    optimizer: Adam,
    config: OptimizerConfig,
    device: Device,
    /// Numbers in the parameters.
    parameters: usize,
    /// The step that was done last.
    done: u64,
}

impl<M: Module> Learner<M> {
    /// Initialises the model that `init` makes, from `seed`, on `device`. The same seed gives the
    /// same weights on every device.
    pub fn new(
        device: &Device,
        seed: u64,
        config: &OptimizerConfig,
        init: impl Fn(&Device) -> M,
    ) -> Self {
        let device = device.clone().autodiff();
        let cpu = Device::flex().autodiff();
        let mut model = seeded(&cpu, seed, || {
            let model = init(&cpu);
            // Parameters are made when first looked at: look at all of them while the stream is ours.
            first_not_finite(&model);
            model
        });
        if device != cpu {
            let drawn = std::mem::replace(&mut model, init(&device));
            copy_weights(&drawn, &mut model).expect("both were made by the same function");
        }
        let &OptimizerConfig { beta_1, beta_2, epsilon, .. } = config;
        let optimizer = Adam::new(Constants { beta_1, beta_2, epsilon });
        let parameters = num_parameters(&model);
        let (model, config) = (Some(model), config.clone());
        Self { model, optimizer, config, device, parameters, done: 0 }
    }

    /// The device, with gradients.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The model, with gradients and dropout.
    pub fn model(&self) -> &M {
        self.model.as_ref().expect("no step is under way")
    }

    /// The model without gradients and dropout.
    pub fn inference_model(&self) -> M {
        self.model().valid()
    }

    /// [`inference_model`](Self::inference_model), when all of its weights are numbers. A step looks
    /// at its loss and gradients; what comes of the weights shows only afterwards.
    ///
    /// # Errors
    /// [`TrainingError::NotFinite`] when the last step spoilt a weight.
    pub fn checked_model(&self) -> Result<M, TrainingError> {
        match first_not_finite(self.model()) {
            Some(tensor) => Err(TrainingError::NotFinite { tensor, step: self.done }),
            None => Ok(self.inference_model()),
        }
    }

    /// One step of Adam on what `loss` gives for a batch of `examples`, with random tensors drawn
    /// from `seed`.
    ///
    /// `loss` is asked for some of the batch's examples, by their numbers, and gives the mean over
    /// them; the random tensors that it draws ([`standard_normal`](crate::standard_normal)) have
    /// these examples along the first dimension.
    ///
    /// Returns `loss`, its parts, and `gradient_norm` (before clipping).
    ///
    /// # Errors
    /// [`TrainingError::NotFinite`] with the first bad tensor: a weight, the loss, or a gradient.
    /// The model is then as it was.
    pub fn step(
        &mut self,
        step: u64,
        seed: u64,
        examples: usize,
        loss: impl Fn(&M, &Device, Range<usize>) -> Losses + Sync,
    ) -> Result<Vec<(String, f64)>, TrainingError> {
        let not_finite = |tensor: String| TrainingError::NotFinite { tensor, step };
        self.done = step;
        let model = self.model();
        let losses = || with_examples(seed, 0..examples, || loss(model, &self.device, 0..examples));
        if self.parameters == 0 {
            return Ok(seeded(&self.device, seed, || losses().metrics()));
        }
        let (mut metrics, graph) = seeded(&self.device, seed, || {
            let losses = losses();
            (losses.metrics(), losses.total.backward())
        });
        if let Some((name, _)) = metrics.iter().find(|(_, value)| !value.is_finite()) {
            return Err(not_finite(first_not_finite(model).unwrap_or_else(|| name.clone())));
        }
        let inner = self.device.clone().without_autodiff();
        let gradients = Gradients::of(model, graph, &inner);
        let norm =
            gradients.norm().map_err(|path| not_finite(format!("the gradient of {path}")))?;
        metrics.push(("gradient_norm".to_owned(), norm));
        let scale = match self.config.max_gradient_norm {
            Some(limit) if norm > limit => limit / norm,
            _ => 1.0,
        };
        let model = self.model.take().expect("no step is under way");
        let rate = self.config.learning_rate;
        self.model = Some(self.optimizer.step(model, gradients, scale, rate));
        Ok(metrics)
    }

    /// Writes `model.safetensors` and the optimiser's state into `directory`.
    ///
    /// # Errors
    /// [`TrainingError::NotFinite`] when the last step spoilt a weight, or when they cannot be
    /// written.
    pub fn save(&self, directory: &Path) -> Result<(), TrainingError> {
        save_weights(&self.checked_model()?, &directory.join(WEIGHTS))
            .map_err(|e| checkpoint(directory, &e))?;
        if self.parameters == 0 {
            return Ok(());
        }
        save_moments(&self.optimizer.moments, directory).map_err(|e| checkpoint(directory, &e))
    }

    /// Takes weights and optimiser state from `directory`.
    ///
    /// # Errors
    /// When they are missing, damaged or of another architecture.
    pub fn load(&mut self, directory: &Path) -> Result<(), TrainingError> {
        let model = self.model.as_mut().expect("no step is under way");
        load_weights(model, &directory.join(WEIGHTS)).map_err(|e| checkpoint(directory, &e))?;
        if self.parameters == 0 {
            return Ok(());
        }
        let inner = self.device.clone().without_autodiff();
        self.optimizer.moments =
            load_moments(model, &inner, directory).map_err(|e| checkpoint(directory, &e))?;
        Ok(())
    }
}

fn checkpoint(directory: &Path, error: &dyn std::error::Error) -> TrainingError {
    TrainingError::Checkpoint { path: directory.display().to_string(), reason: error.to_string() }
}
