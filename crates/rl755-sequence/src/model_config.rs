//! Hyper-parameters as JSON: defaults filled in, unknown fields refused.

use burn::tensor::Device;
use rl755_nn::{ModelSize, num_parameters};
use rl755_run::parse_settings;

use crate::{SequenceError, SequenceNetwork, Sizes};

/// A network with fresh weights, which are drawn when they are first looked at.
///
/// # Errors
/// On a bad value in `config`, or when its values and `sizes` together would take too much memory.
pub(crate) fn network<N: SequenceNetwork>(
    config: &N::Config,
    sizes: &Sizes,
    device: &Device,
) -> Result<N, SequenceError> {
    let network = N::init(config, sizes, device)?;
    size(&network, config, sizes)?;
    Ok(network)
}

/// How large `network` is, which was made of `config`.
///
/// # Errors
/// When it is too large.
pub(crate) fn size<N: SequenceNetwork>(
    network: &N,
    config: &N::Config,
    sizes: &Sizes,
) -> Result<ModelSize, SequenceError> {
    let length = sizes.sequence_length;
    // A batch has inputs and targets.
    let sequence = length.saturating_mul(sizes.input() + sizes.latent);
    let activations = || N::activations(config, sizes).saturating_add(sequence);
    let example = format!("one sequence of {length} steps");
    ModelSize::new(num_parameters(network), &example, activations)
        .map_err(|reason| SequenceError::config(N::NAME, reason))
}

/// The hyper-parameters in `value`; null stands for the defaults.
pub(crate) fn parse<N: SequenceNetwork>(
    value: &serde_json::Value,
) -> Result<N::Config, SequenceError> {
    parse_settings(value).map_err(|e| SequenceError::config(N::NAME, e))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Infilling, LstmNetwork, MdnRnn, Retrieval, Transformer};

    /// Makes a model for sequences of that length, which must be refused with `expected`.
    fn check<N: SequenceNetwork>(config: &serde_json::Value, length: usize, expected: &str) {
        let sizes = Sizes { latent: 32, action: 3, sequence_length: length };
        let config = parse::<N>(config).unwrap();
        let error = network::<N>(&config, &sizes, &Device::flex()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("config of {}: ", N::NAME)), "{error}");
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn models_of_too_many_parameters_are_refused_before_they_take_memory() {
        let expected = " parameters, of which 1000000000 are allowed;";
        let wide = json!({ "hidden_size": 65_536 });
        check::<MdnRnn>(&wide, 64, expected);
        check::<LstmNetwork>(&wide, 64, expected);
        check::<Transformer>(&wide, 64, expected);
        check::<Retrieval>(&json!({ "transformer": wide }), 64, expected);
        check::<Infilling>(&json!({ "channels": 65_536, "depth": 0 }), 64, expected);
    }

    #[test]
    fn sequences_of_too_many_numbers_are_refused_before_they_take_memory() {
        let [long, longest] = [1 << 24, usize::MAX >> 20];
        for length in [long, longest] {
            let expected = format!(" numbers for one sequence of {length} steps, of which ");
            check::<MdnRnn>(&json!({}), length, &expected);
            check::<LstmNetwork>(&json!({}), length, &expected);
            check::<Infilling>(&json!({}), length, &expected);
            check::<Retrieval>(&json!({}), length, &expected);
        }
        // Its positions are parameters.
        let narrow = json!({ "hidden_size": 4, "layers": 1 });
        check::<Transformer>(&narrow, long, " numbers for one sequence of 16777216 steps");
        let deep = json!({ "layers": 256, "hidden_size": 4 });
        check::<Transformer>(&deep, 4096, " numbers for one sequence of 4096 steps");
    }
}
