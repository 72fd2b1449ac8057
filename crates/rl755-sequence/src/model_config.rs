//! Hyper-parameters as JSON: defaults filled in, unknown fields refused.

use crate::{SequenceError, SequenceNetwork};

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
