//! Trained models from their run directories.

use std::path::Path;

use burn::tensor::Device;
use rl755_nn::load_weights;
use rl755_run::WEIGHTS;

use crate::{
    SequenceError, SequenceModel, SequenceNetwork, SequenceRunConfig, model_config,
    trained::trained,
};

/// Loads the model that `config` describes, with the weights in the directory `checkpoint`.
pub(crate) fn load<N: SequenceNetwork>(
    config: &SequenceRunConfig,
    checkpoint: &Path,
    device: &Device,
) -> Result<Box<dyn SequenceModel>, SequenceError> {
    let model_config = model_config::parse::<N>(&config.model_config)?;
    let mut network = model_config::network::<N>(&model_config, &config.sizes, device)?;
    load_weights(&mut network, &checkpoint.join(WEIGHTS))?;
    Ok(trained(&network, config.sizes, config.difference_targets))
}
