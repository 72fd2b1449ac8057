//! The optimiser's state on disk: a safetensors file with, for each parameter, `PATH.exp_avg`,
//! `PATH.exp_avg_sq` and `PATH.step`, as PyTorch's Adam calls them, and in half precision
//! `loss_scale` and `loss_scale_good_steps`.

use std::{borrow::Cow, collections::BTreeMap, fs, path::Path};

use burn::{
    module::{Module, Param},
    tensor::{Device, Tensor, TensorData},
};
use safetensors::{Dtype, SafeTensors, View};

use crate::{
    WeightsError,
    adam::Moments,
    gradients::{VisitParameter, visit_parameters},
    numbers::Numbers,
    precision::LossScale,
};

const STATE: &str = "optimizer.safetensors";
const MEAN: &str = "exp_avg";
const SQUARE: &str = "exp_avg_sq";
const STEPS: &str = "step";
const SCALE: &str = "loss_scale";
const GOOD_STEPS: &str = "loss_scale_good_steps";

/// An array to write.
struct Array {
    shape: Vec<usize>,
    bytes: Vec<u8>,
    dtype: Dtype,
}

impl View for &Array {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// What a training goes on with, beside the weights.
pub(crate) struct State {
    /// Of each parameter, by its path.
    pub(crate) moments: BTreeMap<String, Moments>,
    /// In half precision.
    pub(crate) scale: Option<LossScale>,
}

/// Writes the state into `directory`.
pub(crate) fn save_state(
    moments: &BTreeMap<String, Moments>,
    scale: Option<LossScale>,
    directory: &Path,
) -> Result<(), WeightsError> {
    let mut arrays = BTreeMap::new();
    if let Some(LossScale { scale, good }) = scale {
        let bytes = scale.to_le_bytes().to_vec();
        arrays.insert(SCALE.to_owned(), Array { shape: vec![], bytes, dtype: Dtype::F64 });
        let bytes = good.to_le_bytes().to_vec();
        arrays.insert(GOOD_STEPS.to_owned(), Array { shape: vec![], bytes, dtype: Dtype::U64 });
    }
    for (name, moments) in moments {
        let floats = |numbers: &Numbers| Array {
            shape: moments.shape.clone(),
            bytes: numbers.values().iter().flat_map(|v| v.to_le_bytes()).collect(),
            dtype: Dtype::F32,
        };
        arrays.insert(format!("{name}.{MEAN}"), floats(&moments.mean));
        arrays.insert(format!("{name}.{SQUARE}"), floats(&moments.square));
        let bytes = moments.steps.to_le_bytes().to_vec();
        arrays.insert(format!("{name}.{STEPS}"), Array { shape: vec![], bytes, dtype: Dtype::U64 });
    }
    let path = directory.join(STATE);
    let bytes =
        safetensors::serialize(arrays.iter(), None).map_err(|e| WeightsError::new(&path, e))?;
    fs::write(&path, bytes).map_err(|e| WeightsError::new(&path, e))
}

/// Reads what [`save_state`] wrote for a training of `model`, to be on `device`.
pub(crate) fn load_state<M: Module>(
    model: &M,
    device: &Device,
    directory: &Path,
) -> Result<State, WeightsError> {
    let path = directory.join(STATE);
    let bytes = fs::read(&path).map_err(|e| WeightsError::new(&path, e))?;
    let file = SafeTensors::deserialize(&bytes).map_err(|e| WeightsError::new(&path, e))?;
    let load = Load { file, device, moments: BTreeMap::new(), error: None };
    let Load { file, moments, error, .. } = visit_parameters(model, load);
    if let Some(error) = error {
        return Err(WeightsError::new(&path, error));
    }
    let number = |name: &str| file.tensor(name).ok().and_then(|v| v.data().try_into().ok());
    let scale = number(SCALE).zip(number(GOOD_STEPS)).map(|(scale, good)| LossScale {
        scale: f64::from_le_bytes(scale),
        good: u64::from_le_bytes(good),
    });
    let (known, found) = (3 * moments.len() + 2 * usize::from(scale.is_some()), file.len());
    if known != found {
        let reason = format!("it has {found} tensors, {known} of them for this model");
        return Err(WeightsError::new(&path, reason));
    }
    Ok(State { moments, scale })
}

struct Load<'a> {
    file: SafeTensors<'a>,
    device: &'a Device,
    moments: BTreeMap<String, Moments>,
    error: Option<String>,
}

impl Load<'_> {
    /// `None` for a parameter that has never had a gradient.
    fn moments(&self, name: &str, shape: Vec<usize>) -> Result<Option<Moments>, String> {
        let names = [MEAN, SQUARE, STEPS].map(|kind| format!("{name}.{kind}"));
        let found = names.each_ref().map(|name| self.file.tensor(name).ok());
        let [mean, square, steps] = match found {
            [None, None, None] => return Ok(None),
            [Some(mean), Some(square), Some(steps)] => [mean, square, steps],
            _ => return Err(format!("it lacks one of {}", names.join(", "))),
        };
        for (name, view) in names.iter().zip([&mean, &square]) {
            if view.dtype() != Dtype::F32 || view.shape() != shape {
                let (dtype, found) = (view.dtype(), view.shape());
                return Err(format!("{name} is {dtype:?} {found:?}, not F32 {shape:?}"));
            }
        }
        let numbers = |bytes: &[u8]| {
            let values = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b));
            let data = TensorData::new(values.collect::<Vec<_>>(), shape.clone());
            Numbers::Host(data).moved_to(self.device)
        };
        let steps = match (steps.dtype(), <[u8; 8]>::try_from(steps.data())) {
            (Dtype::U64, Ok(bytes)) => u64::from_le_bytes(bytes),
            _ => return Err(format!("{} is not one number of 64 bits", names[2])),
        };
        let (mean, square) = (numbers(mean.data()), numbers(square.data()));
        Ok(Some(Moments { steps, mean, square, shape }))
    }
}

impl VisitParameter for Load<'_> {
    fn parameter<const D: usize>(&mut self, path: &str, parameter: &Param<Tensor<D>>) {
        match self.moments(path, parameter.dims().to_vec()) {
            Ok(Some(moments)) => drop(self.moments.insert(path.to_owned(), moments)),
            Ok(None) => {}
            Err(error) => drop(self.error.get_or_insert(error)),
        }
    }
}
