//! Trained models from their run directories.

use std::path::Path;

use burn::tensor::Device;
use rl755_nn::load_weights;

use crate::{
    SequenceError, SequenceModel, SequenceNetwork, SequenceRunConfig, model_config,
    trained::trained,
};

/// The weights in a checkpoint.
pub(crate) const WEIGHTS: &str = "model.safetensors";

/// Loads the model that `config` describes, with the weights in the directory `checkpoint`.
pub(crate) fn load<N: SequenceNetwork>(
    config: &SequenceRunConfig,
    checkpoint: &Path,
    device: &Device,
) -> Result<Box<dyn SequenceModel>, SequenceError> {
    let model_config = model_config::parse::<N>(&config.model_config)?;
    let mut network = N::init(&model_config, &config.sizes, device)?;
    if N::TRAINABLE {
        load_weights(&mut network, &checkpoint.join(WEIGHTS))?;
    }
    Ok(trained(&network, config.sizes, config.difference_targets))
}
