//! A model, its optimiser, and one training step of both.

use std::path::Path;

use burn::{
    module::Module,
    optim::{AdamConfig, GradientsParams, ModuleOptimizer},
    tensor::{Device, Tensor},
};
use rl755_run::{SettingError, TrainingError, WEIGHTS};
use serde::{Deserialize, Serialize};

use crate::{
    copy_weights, first_not_finite,
    gradients::{Norm, Scale, visit_parameters},
    load_weights, num_parameters,
    optimizer_state::{load_optimizer, save_optimizer},
    save_weights, seeded,
};

/// Adam (Kingma & Ba 2015), as every model here is trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimizerConfig {
    /// Step size.
    pub learning_rate: f64,
    /// Decay of the mean of the gradients, 0.9.
    pub beta_1: f32,
    /// Decay of the mean of their squares, 0.999.
    pub beta_2: f32,
    /// Added to the root of that mean, 1e-8.
    pub epsilon: f32,
    /// The norm of all gradients together is scaled down to this; `None` leaves them.
    pub max_gradient_norm: Option<f64>,
}

impl Default for OptimizerConfig {
    fn default() -> Self {
        Self {
            learning_rate: 1e-3,
            beta_1: 0.9,
            beta_2: 0.999,
            epsilon: 1e-8,
            max_gradient_norm: None,
        }
    }
}

impl OptimizerConfig {
    /// Rejects numbers that nothing can be trained with.
    ///
    /// # Errors
    /// When the learning rate is not a number above 0.
    pub fn check(&self) -> Result<(), SettingError> {
        let rate = self.learning_rate;
        if rate.is_finite() && rate > 0.0 {
            return Ok(());
        }
        Err(SettingError::new("learning_rate", rate, "a number above 0"))
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
    model: M,
    optimizer: ModuleOptimizer,
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
        let optimizer = AdamConfig::new()
            .with_beta_1(config.beta_1)
            .with_beta_2(config.beta_2)
            .with_epsilon(config.epsilon)
            .init();
        let parameters = num_parameters(&model);
        Self { model, optimizer, config: config.clone(), device, parameters, done: 0 }
    }

    /// The device, with gradients.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The model, with gradients and dropout.
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The model without gradients and dropout.
    pub fn inference_model(&self) -> M {
        self.model.valid()
    }

    /// [`inference_model`](Self::inference_model), when all of its weights are numbers. A step looks
    /// at its loss and gradients; what comes of the weights shows only afterwards.
    ///
    /// # Errors
    /// [`TrainingError::NotFinite`] when the last step spoilt a weight.
    pub fn checked_model(&self) -> Result<M, TrainingError> {
        match first_not_finite(&self.model) {
            Some(tensor) => Err(TrainingError::NotFinite { tensor, step: self.done }),
            None => Ok(self.inference_model()),
        }
    }

    /// One step of Adam on what `loss` gives, with random tensors drawn from `seed`.
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
        loss: impl FnOnce(&M, &Device) -> Losses,
    ) -> Result<Vec<(String, f64)>, TrainingError> {
        let not_finite = |tensor: String| TrainingError::NotFinite { tensor, step };
        self.done = step;
        if self.parameters == 0 {
            return Ok(seeded(&self.device, seed, || loss(&self.model, &self.device).metrics()));
        }
        let (mut metrics, gradients) = seeded(&self.device, seed, || {
            let losses = loss(&self.model, &self.device);
            (losses.metrics(), losses.total.backward())
        });
        if let Some((name, _)) = metrics.iter().find(|(_, value)| !value.is_finite()) {
            return Err(not_finite(first_not_finite(&self.model).unwrap_or_else(|| name.clone())));
        }
        let mut gradients = GradientsParams::from_grads(gradients, &self.model);
        let measured = Norm::of(&self.model, &gradients);
        let norm = measured.value();
        if let Some(tensor) = measured.not_finite {
            return Err(not_finite(tensor));
        }
        metrics.push(("gradient_norm".to_owned(), norm));
        if let Some(limit) = self.config.max_gradient_norm
            && norm > limit
        {
            let scale = Scale { gradients: &mut gradients, factor: limit / norm };
            visit_parameters(&self.model, scale);
        }
        self.model = self.optimizer.step(self.config.learning_rate, self.model.clone(), gradients);
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
        save_optimizer(&self.model, &self.optimizer, directory)
            .map_err(|e| checkpoint(directory, &e))
    }

    /// Takes weights and optimiser state from `directory`.
    ///
    /// # Errors
    /// When they are missing, damaged or of another architecture.
    pub fn load(&mut self, directory: &Path) -> Result<(), TrainingError> {
        load_weights(&mut self.model, &directory.join(WEIGHTS))
            .map_err(|e| checkpoint(directory, &e))?;
        if self.parameters == 0 {
            return Ok(());
        }
        let (model, optimizer) =
            load_optimizer(self.model.clone(), self.optimizer.clone(), directory)
                .map_err(|e| checkpoint(directory, &e))?;
        self.model = model;
        self.optimizer = optimizer;
        Ok(())
    }
}

fn checkpoint(directory: &Path, error: &dyn std::error::Error) -> TrainingError {
    TrainingError::Checkpoint { path: directory.display().to_string(), reason: error.to_string() }
}
