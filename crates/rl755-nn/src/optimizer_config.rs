//! How a model is optimised.

use rl755_run::SettingError;
use serde::{Deserialize, Serialize};

use crate::Schedule;

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
