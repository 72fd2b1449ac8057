//! Weights as safetensors files.

use std::path::{Path, PathBuf};

use burn::{
    module::Module,
    store::{ModuleSnapshot, SafetensorsStore},
};

use crate::seeded::alone;

/// Weights could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct WeightsError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

impl WeightsError {
    pub(crate) fn new(path: &Path, reason: impl ToString) -> Self {
        Self { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// Writes the weights of `model`, named by field paths, to `path`.
///
/// # Errors
/// When the file cannot be written.
pub fn save_weights<M: Module>(model: &M, path: &Path) -> Result<(), WeightsError> {
    // Without metadata, whose order is random: the same weights give the same file.
    let mut store = SafetensorsStore::from_file(path).clear_metadata().overwrite(true);
    alone(|| model.save_into(&mut store)).map_err(|e| WeightsError::new(path, e))
}

/// Replaces the weights of `model` with those in `path`.
///
/// # Errors
/// When the file is missing or damaged, lacks a tensor, or one has another shape.
pub fn load_weights<M: Module>(model: &mut M, path: &Path) -> Result<(), WeightsError> {
    if !path.is_file() {
        return Err(WeightsError::new(path, "no such file"));
    }
    // burn writes a file without tensors that it cannot read.
    if num_parameters(model) == 0 {
        return Ok(());
    }
    let mut store = SafetensorsStore::from_file(path);
    alone(|| model.load_from(&mut store)).map_err(|e| WeightsError::new(path, e))?;
    Ok(())
}

/// Gives `to` the weights of `from`, which may be on another device.
///
/// # Errors
/// When they differ in architecture.
pub fn copy_weights<M: Module>(from: &M, to: &mut M) -> Result<(), WeightsError> {
    if num_parameters(from) == 0 {
        return Ok(());
    }
    let memory = Path::new("memory");
    let mut store = SafetensorsStore::from_bytes(None);
    alone(|| from.save_into(&mut store)).map_err(|e| WeightsError::new(memory, e))?;
    let bytes = store.get_bytes().map_err(|e| WeightsError::new(memory, e))?;
    let mut store = SafetensorsStore::from_bytes(Some(bytes));
    alone(|| to.load_from(&mut store)).map_err(|e| WeightsError::new(memory, e))?;
    Ok(())
}

/// How many numbers the parameters of `model` hold.
pub fn num_parameters<M: Module>(model: &M) -> usize {
    model.num_params()
}
