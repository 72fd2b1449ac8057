//! Hyper-parameters as JSON: defaults filled in, unknown fields refused.

use crate::{EncoderError, EncoderModel};

/// The hyper-parameters in `value`; null stands for the defaults.
pub(crate) fn parse<M: EncoderModel>(value: &serde_json::Value) -> Result<M::Config, EncoderError> {
    if value.is_null() {
        return Ok(M::Config::default());
    }
    let config = serde_json::from_value(value.clone()).map_err(|e| bad::<M>(&e))?;
    // Configs of several parts (`serde(flatten)`) cannot refuse unknown fields themselves.
    let known = resolved::<M>(&config)?;
    if let (Some(given), Some(known)) = (value.as_object(), known.as_object())
        && let Some(unknown) = given.keys().find(|field| !known.contains_key(*field))
    {
        let known = known.keys().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ");
        let reason = format!("unknown field `{unknown}`, expected one of {known}");
        return Err(EncoderError::Config { encoder: M::NAME.to_owned(), reason });
    }
    Ok(config)
}

/// `config` with every field.
pub(crate) fn resolved<M: EncoderModel>(
    config: &M::Config,
) -> Result<serde_json::Value, EncoderError> {
    serde_json::to_value(config).map_err(|e| bad::<M>(&e))
}

/// The defaults of `M`.
pub(crate) fn default_value<M: EncoderModel>() -> Result<serde_json::Value, EncoderError> {
    resolved::<M>(&M::Config::default())
}

fn bad<M: EncoderModel>(error: &serde_json::Error) -> EncoderError {
    EncoderError::Config { encoder: M::NAME.to_owned(), reason: error.to_string() }
}
