//! Hyper-parameters as JSON: defaults filled in, unknown fields refused.

use rl755_run::parse_settings;

use crate::{EncoderError, EncoderModel};

/// The hyper-parameters in `value`, an object or null; what is missing is the model's default.
pub(crate) fn parse<M: EncoderModel>(value: &serde_json::Value) -> Result<M::Config, EncoderError> {
    let wrong = |reason| EncoderError::Config { encoder: M::NAME.to_owned(), reason };
    let config = parse_settings(value).map_err(wrong)?;
    // Configs of several parts (`serde(flatten)`) cannot refuse unknown fields themselves.
    let known = resolved::<M>(&config)?;
    if let (Some(given), Some(known)) = (value.as_object(), known.as_object())
        && let Some(unknown) = given.keys().find(|field| !known.contains_key(*field))
    {
        let known = known.keys().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ");
        let reason = format!("unknown field `{unknown}`, expected one of {known}");
        return Err(wrong(reason));
    }
    Ok(config)
}

/// `config` with every field.
pub(crate) fn resolved<M: EncoderModel>(
    config: &M::Config,
) -> Result<serde_json::Value, EncoderError> {
    serde_json::to_value(config).map_err(|error| EncoderError::Config {
        encoder: M::NAME.to_owned(),
        reason: error.to_string(),
    })
}

/// The defaults of `M`.
pub(crate) fn default_value<M: EncoderModel>() -> Result<serde_json::Value, EncoderError> {
    resolved::<M>(&M::Config::default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Autoencoder, FrameVae, Identity, Mlp, SimClr, Vae64, Vae96};

    fn check<M: EncoderModel>() {
        let defaults = default_value::<M>().unwrap();
        for value in [json!({}), json!(null)] {
            assert_eq!(resolved::<M>(&parse::<M>(&value).unwrap()).unwrap(), defaults);
        }
        let unknown = parse::<M>(&json!({ "no_such_field": 1 }));
        let error = unknown.err().expect("no model has this field").to_string();
        assert!(error.contains("unknown field `no_such_field`"), "{error}");
    }

    #[test]
    fn what_is_left_out_is_the_default_of_each_model() {
        check::<Autoencoder>();
        check::<FrameVae>();
        check::<Identity>();
        check::<Mlp>();
        check::<SimClr>();
        check::<Vae64>();
        check::<Vae96>();
        let config = parse::<Mlp>(&json!({ "variational": true, "beta": 2.0 })).unwrap();
        assert_eq!((config.posterior.beta, config.posterior.free_nats), (2.0, 0.0));
    }
}
