//! Golden files that `golden_file.py` writes: what PyTorch's layers give for the same weights.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use burn::{
    module::{Module, ModuleVisitor, Param},
    optim::GradientsParams,
    tensor::{Device, Tensor, TensorData},
};
use safetensors::{SafeTensors, tensor::TensorView};

/// The largest relative error that is let pass.
const TOLERANCE: f64 = 1e-4;

/// The error of 32-bit floats around 0.
const ROUNDING: f64 = 1e-7;

/// Where PyTorch has 0 in 64 bits throughout, as for the gradients of the keys' biases, which cannot
/// matter: what sums of 32-bit floats that cancel may leave.
const NOTHING: f64 = 1e-5;

/// A golden file.
pub(crate) struct GoldenFile {
    tensors: BTreeMap<String, (Vec<usize>, Vec<f32>)>,
}

impl GoldenFile {
    /// Reads `tests/golden/NAME.safetensors` of the crate in `directory`.
    pub(crate) fn read(directory: &str, name: &str) -> Self {
        let path = Path::new(directory).join("tests/golden").join(name);
        let bytes = fs::read(path.with_extension("safetensors")).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let floats = |bytes: &[u8]| {
            bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
        };
        let tensors = file
            .tensors()
            .into_iter()
            .map(|(name, tensor)| (name, (tensor.shape().to_vec(), floats(tensor.data()))));
        Self { tensors: tensors.collect() }
    }

    /// Gives `model` the weights in the file, which must be all that it has.
    pub(crate) fn give_weights<M: Module>(&self, model: &mut M) {
        let weights: BTreeMap<&str, (&[usize], Vec<u8>)> = self
            .tensors
            .iter()
            .filter_map(|(name, (shape, values))| {
                let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                Some((name.strip_prefix("weight/")?, (&shape[..], bytes)))
            })
            .collect();
        let mut paths = Paths::default();
        model.visit(&mut paths);
        let known: BTreeSet<&str> = weights.keys().copied().collect();
        assert_eq!(known, paths.found.keys().map(String::as_str).collect());
        let views = weights.iter().map(|(name, (shape, bytes))| {
            let view = TensorView::new(safetensors::Dtype::F32, shape.to_vec(), bytes);
            (*name, view.unwrap())
        });
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("weights.safetensors");
        fs::write(&path, safetensors::serialize(views, None).unwrap()).unwrap();
        rl755_nn::load_weights(model, &path).unwrap();
    }

    /// Whether there is such an input or value, `input/NAME` or `value/NAME`.
    #[allow(dead_code, reason = "not all tests ask")]
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// What went into PyTorch's layers.
    pub(crate) fn input<const D: usize>(&self, name: &str, device: &Device) -> Tensor<D> {
        let (shape, values) = &self.tensors[&format!("input/{name}")];
        Tensor::from_data(TensorData::new(values.clone(), shape.clone()), device)
    }

    /// What came out.
    pub(crate) fn value(&self, name: &str) -> &[f32] {
        &self.tensors[&format!("value/{name}")].1
    }

    /// Checks that `found` is what came out of PyTorch's layers.
    pub(crate) fn check(&self, name: &str, found: &[f32]) {
        assert_close(name, found, self.value(name));
    }

    /// As [`check`](Self::check), for a tensor.
    pub(crate) fn check_tensor<const D: usize>(&self, name: &str, found: Tensor<D>) {
        self.check(name, &values(found));
    }

    /// Checks the gradient of every parameter of `model`, and that those without one in the file
    /// have none.
    pub(crate) fn check_gradients<M: Module>(&self, model: &M, loss: &Tensor<1>) {
        let gradients = GradientsParams::from_grads(loss.backward(), model);
        let mut paths = Paths { gradients: Some(gradients), ..Paths::default() };
        model.visit(&mut paths);
        for (path, found) in &paths.found {
            let name = format!("gradient/{path}");
            match (found, self.tensors.get(&name)) {
                (Some(found), Some((_, expected))) => assert_close(&name, found, expected),
                (found, expected) => {
                    assert_eq!(found.is_some(), expected.is_some(), "{path}");
                }
            }
        }
    }
}

/// The numbers of `tensor`.
pub(crate) fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().unwrap()
}

/// Checks that no number is off by more than the tolerance times its size and that of the others.
fn assert_close(name: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{name}");
    let squares: f64 = expected.iter().map(|value| f64::from(*value).powi(2)).sum();
    let size = (squares / expected.len() as f64).sqrt();
    let rounding = if size < 1e-12 { NOTHING } else { ROUNDING };
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let (found, expected) = (f64::from(*found), f64::from(*expected));
        let allowed = TOLERANCE * (expected.abs() + size) + rounding;
        let right = (found - expected).abs() <= allowed;
        assert!(right, "{name}, {index}: {found}, PyTorch has {expected}");
    }
}

/// The parameters of a module by their paths, with their gradients where those are known.
#[derive(Default)]
struct Paths {
    path: Vec<String>,
    gradients: Option<GradientsParams>,
    found: BTreeMap<String, Option<Vec<f32>>>,
}

impl ModuleVisitor for Paths {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, parameter: &Param<Tensor<D>>) {
        let gradient = self.gradients.as_ref().and_then(|all| all.get::<D>(parameter.id));
        self.found.insert(self.path.join("."), gradient.map(values));
    }
}
