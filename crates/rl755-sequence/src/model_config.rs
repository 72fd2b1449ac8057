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

/// Checks that `value` is at least 1.
pub(crate) fn positive(model: &str, field: &str, value: usize) -> Result<(), SequenceError> {
    if value == 0 {
        return Err(SequenceError::config(model, format!("{field} is 0; it must be at least 1")));
    }
    Ok(())
}
