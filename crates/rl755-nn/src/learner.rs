//! A model, its optimiser, and one training step of both.

use std::{ops::Range, path::Path};

use burn::{module::Module, tensor::Device};
use rl755_run::{TrainingError, WEIGHTS};
use serde::{Deserialize, Serialize};

use crate::{
    Losses, OptimizerConfig,
    adam::{Adam, Constants},
    average::Average,
    first_not_finite, load_weights, num_parameters,
    optimizer_state::{State, load_state, save_state},
    parts::Batch,
    precision::{LossScale, Precision},
    save_weights, seeded,
    weights::transfer,
};

/// The file of a checkpoint with the weights that a training goes on from, where those that are
/// evaluated and loaded by later stages are a moving average of them.
const RAW_WEIGHTS: &str = "raw_model.safetensors";

/// How a training computes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Compute {
    /// Further devices, of the same kind as the first: each takes an equal part of every batch. The
    /// results are those of one device within rounding.
    #[serde(skip)]
    pub replicas: Vec<Device>,
    /// What forward and backward passes are computed in.
    pub precision: Precision,
    /// Whether to look at every intermediate result that models show
    /// ([`watch`](crate::watch)), at the batch, and at the weights after each step. Costs time.
    #[serde(skip)]
    pub check_numerics: bool,
}

/// A model in training. One without parameters can be stepped, saved and loaded like any other;
/// nothing of it changes.
pub struct Learner<M> {
    /// Of 32 bits, on the first device; `None` only while a step moves it.
    model: Option<M>,
    optimizer: Adam,
    average: Option<Average>,
    /// In half precision.
    scale: Option<LossScale>,
    config: OptimizerConfig,
    /// With gradients. At least one.
    devices: Vec<Device>,
    compute: Compute,
    /// Steps of the whole training, which schedules of the learning rate look at.
    steps: u64,
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
        let drawn = seeded(&cpu, seed, || {
            let model = init(&cpu);
            // Parameters are made when first looked at: look at all of them while the stream is ours.
            first_not_finite(&model);
            model
        });
        let made = if device == cpu { drawn.clone() } else { init(&device) };
        let model = transfer(&drawn, made, &device);
        let &OptimizerConfig { beta_1, beta_2, epsilon, .. } = config;
        let parameters = num_parameters(&model);
        Self {
            optimizer: Adam::new(Constants { beta_1, beta_2, epsilon }),
            average: config.ema_decay.map(|decay| Average::new(decay, &model)),
            scale: None,
            config: config.clone(),
            devices: vec![device],
            compute: Compute::default(),
            steps: u64::MAX,
            model: Some(model),
            parameters,
            done: 0,
        }
    }

    /// Sets how it computes, and how many steps the training has.
    #[must_use]
    pub fn computing(mut self, compute: &Compute, steps: u64) -> Self {
        self.devices.truncate(1);
        self.devices.extend(compute.replicas.iter().map(|device| device.clone().autodiff()));
        self.scale = (compute.precision == Precision::F16).then(LossScale::new);
        self.compute = compute.clone();
        self.steps = steps;
        self
    }

    /// Takes the weights in the safetensors file `path` in place of those that were drawn.
    ///
    /// # Errors
    /// When they cannot be read, or are those of another architecture.
    pub fn start_from(&mut self, path: &Path) -> Result<(), crate::WeightsError> {
        let model = self.model.as_mut().expect("no step is under way");
        load_weights(model, path)?;
        self.average = self.config.ema_decay.map(|decay| Average::new(decay, model));
        Ok(())
    }

    /// The first device, with gradients.
    pub fn device(&self) -> &Device {
        &self.devices[0]
    }

    /// The model, with gradients and dropout: the weights of the last step.
    pub fn model(&self) -> &M {
        self.model.as_ref().expect("no step is under way")
    }

    /// The model without gradients and dropout, as it is evaluated and saved for others: the moving
    /// average of the weights, where there is one.
    pub fn inference_model(&self) -> M {
        self.compute.precision.cast(self.weights())
    }

    /// The same, in 32 bits.
    fn weights(&self) -> M {
        match &self.average {
            Some(average) => average.apply(self.model()),
            None => self.model().valid(),
        }
    }

    /// [`inference_model`](Self::inference_model), when all of its weights are numbers. A step looks
    /// at its loss and gradients; what comes of the weights shows only afterwards.
    ///
    /// # Errors
    /// [`TrainingError::NotFinite`] when the last step spoilt a weight.
    pub fn checked_model(&self) -> Result<M, TrainingError> {
        self.check_weights()?;
        Ok(self.inference_model())
    }

    fn check_weights(&self) -> Result<(), TrainingError> {
        match first_not_finite(self.model()) {
            Some(tensor) => Err(TrainingError::NotFinite { tensor, step: self.done }),
            None => Ok(()),
        }
    }

    /// One step of Adam on what `loss` gives for a batch of `examples`, with random tensors drawn
    /// from `seed`.
    ///
    /// `loss` is asked for some of the batch's examples, by their numbers, on one of the devices,
    /// and gives the mean over them; the random tensors that it draws
    /// ([`standard_normal`](crate::standard_normal)) have these examples along the first dimension.
    /// A loss that compares the examples of a batch with each other sees those of its part.
    ///
    /// Returns `loss`, its parts, `gradient_norm` (before clipping), `learning_rate` and in half
    /// precision `loss_scale`. Where gradients of half precision overflow, the step is left out and
    /// has no `gradient_norm`.
    ///
    /// # Errors
    /// [`TrainingError::NotFinite`] with the first bad tensor: a weight, the loss, or a gradient.
    /// The model is then as it was, unless it is a weight that the step itself spoilt, which is
    /// looked for with `check_numerics`.
    ///
    /// # Panics
    /// When the learning rate's schedule depends on the number of steps, which
    /// [`computing`](Self::computing) did not say.
    pub fn step(
        &mut self,
        step: u64,
        seed: u64,
        examples: usize,
        loss: impl Fn(&M, &Device, Range<usize>) -> Losses + Sync,
    ) -> Result<Vec<(String, f64)>, TrainingError> {
        self.done = step;
        let device = self.device();
        if self.parameters == 0 {
            let losses = || loss(self.model(), device, 0..examples).metrics();
            return Ok(seeded(device, seed, losses));
        }
        let not_finite = |tensor: String| TrainingError::NotFinite { tensor, step };
        let home = device.clone().without_autodiff();
        let open_ended = self.config.schedule.is_open_ended();
        assert!(open_ended || self.steps < u64::MAX, "`computing` says how many steps there are");
        let scale = self.scale.map(|scale| scale.scale);
        let loss_scale = scale.unwrap_or(1.0);
        let batch = Batch {
            seed,
            examples,
            precision: self.compute.precision,
            scale,
            check_numerics: self.compute.check_numerics,
            home: &home,
        };
        let computed = seeded(device, seed, || batch.compute(self.model(), &self.devices, &loss));
        let computed = computed.map_err(not_finite)?;
        let (mut metrics, gradients) = (computed.metrics, computed.gradients);
        let rate = self.config.schedule.rate(self.config.learning_rate, step, self.steps);
        let norm = match gradients.norm() {
            Ok(norm) => Some(norm / loss_scale),
            // Numbers of 16 bits overflowed: the step is left out.
            Err(_) if self.scale.as_mut().is_some_and(LossScale::bad_step) => None,
            Err(path) => return Err(not_finite(format!("the gradient of {path}"))),
        };
        metrics.extend(norm.map(|norm| ("gradient_norm".to_owned(), norm)));
        metrics.push(("learning_rate".to_owned(), rate));
        if let Some(norm) = norm {
            let clipped = match self.config.max_gradient_norm {
                Some(limit) if norm > limit => limit / norm,
                _ => 1.0,
            };
            let model = self.model.take().expect("no step is under way");
            let model = self.optimizer.step(model, gradients, clipped / loss_scale, rate);
            if let Some(average) = &mut self.average {
                average.update(&model, step);
            }
            self.model = Some(model);
            if let Some(scale) = &mut self.scale {
                scale.good_step();
            }
        }
        if self.scale.is_some() {
            metrics.push(("loss_scale".to_owned(), loss_scale));
        }
        if self.compute.check_numerics {
            self.check_weights()?;
        }
        Ok(metrics)
    }

    /// Writes `model.safetensors`, which others load, and the optimiser's state into `directory`;
    /// beside a moving average also the weights that it is one of.
    ///
    /// # Errors
    /// [`TrainingError::NotFinite`] when the last step spoilt a weight, or when they cannot be
    /// written.
    pub fn save(&self, directory: &Path) -> Result<(), TrainingError> {
        self.check_weights()?;
        let save = || {
            save_weights(&self.weights(), &directory.join(WEIGHTS))?;
            if self.parameters == 0 {
                return Ok(());
            }
            if self.average.is_some() {
                save_weights(self.model(), &directory.join(RAW_WEIGHTS))?;
            }
            save_state(&self.optimizer.moments, self.scale, directory)
        };
        save().map_err(|error| checkpoint(directory, &error))
    }

    /// Takes weights and optimiser state from `directory`.
    ///
    /// # Errors
    /// When they are missing, damaged or of another architecture.
    pub fn load(&mut self, directory: &Path) -> Result<(), TrainingError> {
        let device = self.device().clone().without_autodiff();
        let mut load = || {
            let model = self.model.as_mut().expect("no step is under way");
            load_weights(model, &directory.join(WEIGHTS))?;
            if self.parameters == 0 {
                return Ok(());
            }
            if let Some(decay) = self.config.ema_decay {
                self.average = Some(Average::new(decay, model));
                load_weights(model, &directory.join(RAW_WEIGHTS))?;
            }
            let State { moments, scale } = load_state(model, &device, directory)?;
            self.optimizer.moments = moments;
            self.scale = self.scale.map(|fresh| scale.unwrap_or(fresh));
            Ok(())
        };
        load().map_err(|error: crate::WeightsError| checkpoint(directory, &error))
    }
}

fn checkpoint(directory: &Path, error: &dyn std::error::Error) -> TrainingError {
    TrainingError::Checkpoint { path: directory.display().to_string(), reason: error.to_string() }
}
