//! How the learning rate changes over a training.

use rl755_run::SettingError;
use serde::{Deserialize, Serialize};

/// What follows the warm-up. `p` goes from 0 at its end to 1 at the training's last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Decay {
    /// The rate stays.
    #[default]
    Constant,
    /// In a straight line to `final_rate`.
    Linear {
        /// The last step's rate.
        final_rate: f64,
    },
    /// To `final_rate` by half a cosine (Loshchilov & Hutter 2017): `f + (r - f) (1 + cos πp) / 2`.
    Cosine {
        /// The last step's rate.
        final_rate: f64,
    },
    /// To `final_rate` by the same factor at every step.
    Exponential {
        /// The last step's rate.
        final_rate: f64,
    },
    /// Times `factor` every `every` steps.
    Step {
        /// Steps at one rate.
        every: u64,
        /// What the rate is multiplied by, in 0..=1.
        factor: f64,
    },
    /// `√(warm-up / step)` of the rate, as the original transformer was trained (Vaswani et al.
    /// 2017, equation 3, with the rate at its peak given).
    InverseSqrt,
}

/// How the learning rate changes over a training: it rises in a straight line over the warm-up, is
/// the optimiser's own at the warm-up's last step, and then falls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Schedule {
    /// Steps of the warm-up; 0 leaves it out.
    pub warmup_steps: u64,
    /// What comes then.
    pub decay: Decay,
}

impl Schedule {
    /// The rate of `step`, from 1, in a training of `steps` steps whose rate is `peak`.
    pub fn rate(&self, peak: f64, step: u64, steps: u64) -> f64 {
        let warm = self.warmup_steps.max(1);
        if step < warm {
            return peak * step as f64 / warm as f64;
        }
        let since = step - warm;
        let share = (since as f64 / steps.saturating_sub(warm).max(1) as f64).min(1.0);
        match self.decay {
            Decay::Constant => peak,
            Decay::Linear { final_rate } => peak + (final_rate - peak) * share,
            Decay::Cosine { final_rate } => {
                let height = 0.5 * (1.0 + (std::f64::consts::PI * share).cos());
                final_rate + (peak - final_rate) * height
            }
            Decay::Exponential { final_rate } => peak * (final_rate / peak).powf(share),
            Decay::Step { every, factor } => peak * factor.powf((since / every) as f64),
            Decay::InverseSqrt => peak * (warm as f64 / step as f64).sqrt(),
        }
    }

    /// Whether a training's steps have the same rates when more are added.
    pub fn is_open_ended(&self) -> bool {
        matches!(self.decay, Decay::Constant | Decay::Step { .. } | Decay::InverseSqrt)
    }

    /// Rejects numbers that no rate comes of; `peak` is the optimiser's rate.
    ///
    /// # Errors
    /// When the final rate is not in 0..=`peak` (above 0 for the exponential one), or the factor or
    /// the steps of [`Decay::Step`] cannot be.
    pub fn check(&self, peak: f64) -> Result<(), SettingError> {
        match self.decay {
            Decay::Constant | Decay::InverseSqrt => Ok(()),
            Decay::Step { every: 0, .. } => {
                Err(SettingError::new("lr_decay_every", 0, "at least 1"))
            }
            Decay::Step { factor, .. } if !(factor > 0.0 && factor <= 1.0) => {
                Err(SettingError::new("lr_decay_factor", factor, "above 0 and at most 1"))
            }
            Decay::Step { .. } => Ok(()),
            Decay::Exponential { final_rate } if final_rate <= 0.0 => {
                let expected = "above 0 for an exponential schedule";
                Err(SettingError::new("final_learning_rate", final_rate, expected))
            }
            Decay::Linear { final_rate }
            | Decay::Cosine { final_rate }
            | Decay::Exponential { final_rate } => {
                if (0.0..=peak).contains(&final_rate) {
                    return Ok(());
                }
                let expected = format!("from 0 to the learning rate, {peak}");
                Err(SettingError::new("final_learning_rate", final_rate, expected))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_pytorchs() {
        let golden = include_str!("../tests/golden/optimizer_by_pytorch.json");
        let golden: serde_json::Value = serde_json::from_str(golden).unwrap();
        let final_rate = 0.01;
        for warmup_steps in [0, 5] {
            for (name, decay) in [
                ("constant", Decay::Constant),
                ("linear", Decay::Linear { final_rate }),
                ("cosine", Decay::Cosine { final_rate }),
                ("exponential", Decay::Exponential { final_rate }),
                ("step", Decay::Step { every: 6, factor: 0.3 }),
                ("inverse-sqrt", Decay::InverseSqrt),
            ] {
                let schedule = Schedule { warmup_steps, decay };
                schedule.check(0.5).unwrap();
                let expected = golden["schedules"][format!("{name} {warmup_steps}")].as_array();
                for (index, expected) in expected.unwrap().iter().enumerate() {
                    let rate = schedule.rate(0.5, index as u64 + 1, 40);
                    let expected = expected.as_f64().unwrap();
                    assert!((rate - expected).abs() < 1e-12, "{name} {index}: {rate} {expected}");
                }
            }
        }
    }

    #[test]
    fn a_schedule_has_the_settings_of_its_own_kind_alone() {
        let read = |text: &str| serde_json::from_str::<Decay>(text);
        assert_eq!(read(r#""constant""#).unwrap(), Decay::Constant);
        let cosine = read(r#"{ "cosine": { "final_rate": 0.5 } }"#).unwrap();
        assert_eq!(cosine, Decay::Cosine { final_rate: 0.5 });
        assert!(read(r#"{ "constant": { "final_rate": 0.5 } }"#).is_err());
        assert!(read(r#"{ "cosine": { "final_rate": 0.5, "every": 1 } }"#).is_err());
    }

    #[test]
    fn rates_that_cannot_be_are_refused() {
        let check = |decay, expected: &str| {
            let error = Schedule { warmup_steps: 0, decay }.check(0.1).unwrap_err().to_string();
            assert_eq!(error, expected);
        };
        check(
            Decay::Cosine { final_rate: 0.2 },
            "final_learning_rate is 0.2; it must be from 0 to the learning rate, 0.1",
        );
        check(
            Decay::Exponential { final_rate: 0.0 },
            "final_learning_rate is 0; it must be above 0 for an exponential schedule",
        );
        check(
            Decay::Step { every: 3, factor: 1.5 },
            "lr_decay_factor is 1.5; it must be above 0 and at most 1",
        );
    }
}
