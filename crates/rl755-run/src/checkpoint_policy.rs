//! Which checkpoints a training keeps, which is its best, and when it stops early.

use serde::{Deserialize, Serialize};

use crate::SettingError;

/// The metric of a checkpoint that says how good it is: the lower, the better.
pub(crate) const JUDGED_BY: &str = "validation_loss";

/// Which checkpoints a training keeps, and when it stops early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CheckpointPolicy {
    /// The newest checkpoints that are kept, at least 1, beside the best one and those that another
    /// stage took by number; `None` keeps all.
    pub keep: Option<u64>,
    /// Stop after this many checkpoints, at least 1, without a better validation loss; later stages
    /// then take the best checkpoint unless told otherwise. `None` never stops early.
    pub early_stopping: Option<u64>,
}

impl CheckpointPolicy {
    /// Rejects numbers that nothing can be trained with.
    ///
    /// # Errors
    /// When one is 0.
    pub fn check(&self) -> Result<(), SettingError> {
        SettingError::check_not_zero([
            ("keep_checkpoints", self.keep.unwrap_or(1)),
            ("early_stopping", self.early_stopping.unwrap_or(1)),
        ])
    }
}

/// The checkpoint with the lowest validation loss.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Best {
    pub(crate) checkpoint: u64,
    pub(crate) loss: f64,
}

/// How the checkpoints of a training have been judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Judgement {
    /// `None` where nothing was validated.
    pub(crate) best: Option<Best>,
    /// Checkpoints since the best one.
    pub(crate) since: u64,
}

impl Judgement {
    /// Takes in the metrics of a checkpoint.
    pub(crate) fn judge(&mut self, checkpoint: u64, metrics: &[(String, f64)]) {
        let Some(&(_, loss)) = metrics.iter().find(|(name, _)| name == JUDGED_BY) else { return };
        if self.best.is_none_or(|best| loss < best.loss) {
            *self = Self { best: Some(Best { checkpoint, loss }), since: 0 };
        } else {
            self.since += 1;
        }
    }

    /// Whether it is time to stop.
    pub(crate) fn is_enough(&self, policy: CheckpointPolicy) -> bool {
        policy.early_stopping.is_some_and(|patience| self.since >= patience)
    }
}
