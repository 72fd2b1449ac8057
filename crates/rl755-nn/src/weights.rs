//! Weights as safetensors files.

use std::{
    collections::VecDeque,
    path::{Path, PathBuf},
};

use burn::{
    module::{Module, ModuleMapper, Param},
    store::{ApplyError, ModuleSnapshot, SafetensorsStore},
    tensor::{DType, Device, Tensor, TensorData},
};
use safetensors::{serialize_to_file, tensor::TensorView};

use crate::{
    gradients::{VisitParameter, visit_parameters},
    seeded::alone,
};

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
    if num_parameters(model) == 0 {
        // burn writes a header that nothing can read.
        let none = std::iter::empty::<(&str, TensorView<'_>)>();
        return serialize_to_file(none, None, path).map_err(|e| WeightsError::new(path, e));
    }
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
    // Files without tensors that burn wrote cannot be read.
    if num_parameters(model) == 0 {
        return Ok(());
    }
    // burn's own errors tell of its settings.
    let mut store = SafetensorsStore::from_file(path).validate(false).allow_partial(true);
    let loaded = alone(|| model.load_from(&mut store)).map_err(|e| WeightsError::new(path, e))?;
    let misfits = loaded.errors.iter().map(misfit);
    let missing = loaded.missing.iter().map(|(name, _)| format!("it has no tensor `{name}`"));
    let mut wrong = misfits.chain(missing);
    match (wrong.next(), wrong.count()) {
        (None, _) => Ok(()),
        (Some(first), 0) => Err(WeightsError::new(path, first)),
        (Some(first), more) => {
            Err(WeightsError::new(path, format!("{first}; {more} more do not fit")))
        }
    }
}

/// Why a tensor cannot be loaded.
fn misfit(error: &ApplyError) -> String {
    match error {
        ApplyError::ShapeMismatch { path, expected, found } => {
            let [expected, found] = [expected, found].map(|shape| shape.to_vec());
            format!("`{path}` is {found:?}; this model's is {expected:?}")
        }
        other => other.to_string(),
    }
}

/// `to`, which is of the same architecture, with the weights of `from` in 32 bits on `device`.
pub(crate) fn transfer<M: Module>(from: &M, to: M, device: &Device) -> M {
    let values = visit_parameters(from, Values(VecDeque::new())).0;
    alone(|| to.map(&mut Put { values, device }))
}

struct Values(VecDeque<TensorData>);

impl VisitParameter for Values {
    fn parameter<const D: usize>(&mut self, _path: &str, parameter: &Param<Tensor<D>>) {
        self.0.push_back(parameter.val().into_data_as::<f32>());
    }
}

struct Put<'a> {
    values: VecDeque<TensorData>,
    device: &'a Device,
}

impl ModuleMapper for Put<'_> {
    fn map_float<const D: usize>(&mut self, parameter: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, value, mapper) = parameter.consume();
        let data = self.values.pop_front().expect("both are of the same architecture");
        let tensor = Tensor::from_data(data, (self.device, DType::F32));
        Param::from_mapped_value(id, tensor.set_require_grad(value.is_require_grad()), mapper)
    }
}

/// How many numbers the parameters of `model` hold.
pub fn num_parameters<M: Module>(model: &M) -> usize {
    model.num_params()
}
