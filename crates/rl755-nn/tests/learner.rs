//! Training steps are repeatable, resumable and stop at the first bad number.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use burn::{
    module::Module,
    nn::{
        Dropout, DropoutConfig, Linear, LinearConfig,
        conv::{Conv2d, Conv2dConfig, ConvTranspose2d, ConvTranspose2dConfig},
    },
    tensor::{Device, Distribution, Tensor, activation::relu},
};
use rl755_nn::{Learner, Losses, OptimizerConfig, save_weights};

#[derive(Module, Debug)]
struct Net {
    conv: Conv2d,
    linear: Linear,
    dropout: Dropout,
    deconv: ConvTranspose2d,
}

impl Net {
    fn new(device: &Device) -> Self {
        Self {
            conv: Conv2dConfig::new([3, 16], [4, 4]).with_stride([2, 2]).init(device),
            linear: LinearConfig::new(16 * 15 * 15, 32).init(device),
            dropout: DropoutConfig::new(0.1).init(),
            deconv: ConvTranspose2dConfig::new([32, 3], [32, 32]).init(device),
        }
    }

    fn losses(&self, device: &Device) -> Losses {
        let x = Tensor::<4>::random([32, 3, 32, 32], Distribution::Default, device);
        let h = relu(self.conv.forward(x.clone())).flatten::<2>(1, 3); // [32, 3600]
        let z = self.dropout.forward(self.linear.forward(h)).reshape([32, 32, 1, 1]);
        let total = (self.deconv.forward(z) - x).square().sum().div_scalar(32.0);
        Losses { total, parts: vec![] }
    }
}

fn learner() -> Learner<Net> {
    let config = OptimizerConfig { max_gradient_norm: Some(1.0), ..OptimizerConfig::default() };
    Learner::new(&Device::flex(), 5, &config, Net::new)
}

fn advance(learner: &mut Learner<Net>, steps: std::ops::RangeInclusive<u64>) {
    for step in steps {
        learner.step(step, step, 32, |net, device, _| net.losses(device)).unwrap();
    }
}

/// The weights' file.
fn bytes(learner: &Learner<Net>) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.safetensors");
    save_weights(learner.model(), &path).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn a_loaded_training_goes_on_with_the_same_bits() {
    let mut whole = learner();
    advance(&mut whole, 1..=6);
    let mut first = learner();
    advance(&mut first, 1..=3);
    let directory = tempfile::tempdir().unwrap();
    first.save(directory.path()).unwrap();
    let config = OptimizerConfig { max_gradient_norm: Some(1.0), ..OptimizerConfig::default() };
    let mut second = Learner::new(&Device::flex(), 77, &config, Net::new);
    second.load(directory.path()).unwrap();
    advance(&mut second, 4..=6);
    assert!(bytes(&whole) == bytes(&second));
}

#[test]
fn the_number_of_threads_does_not_change_the_weights() {
    let train = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut learner = learner();
            advance(&mut learner, 1..=3);
            bytes(&learner)
        })
    };
    assert!(train(1) == train(2));
    assert!(train(1) == train(3));
}

#[test]
fn the_first_bad_tensor_is_named_and_the_model_stays() {
    let mut learner = learner();
    let before = bytes(&learner);
    let error = learner
        .step(7, 0, 32, |net, device, _| {
            // Finite, with an infinite gradient at 0.
            let zero = net.linear.weight.val().mul_scalar(0.0);
            let loss = net.losses(device);
            Losses { total: loss.total + zero.sqrt().sum(), parts: vec![] }
        })
        .unwrap_err();
    assert!(
        error.to_string().starts_with("the gradient of linear.weight is not finite at step 7"),
        "{error}"
    );
    assert!(before == bytes(&learner));
}

#[derive(Module, Debug)]
struct Nothing {
    width: usize,
}

#[test]
fn a_model_without_parameters_is_stepped_saved_and_loaded() {
    let config = OptimizerConfig::default();
    let new = || Learner::new(&Device::flex(), 1, &config, |_| Nothing { width: 3 });
    let mut learner = new();
    let loss = |model: &Nothing, device: &Device, _| Losses {
        total: Tensor::<1>::ones([model.width], device).sum(),
        parts: vec![],
    };
    assert_eq!(learner.step(1, 0, 5, loss).unwrap(), [("loss".to_owned(), 3.0)]);
    let directory = tempfile::tempdir().unwrap();
    learner.save(directory.path()).unwrap();
    new().load(directory.path()).unwrap();
}

#[test]
fn a_weight_that_the_last_step_spoilt_is_not_saved() {
    let config = OptimizerConfig { learning_rate: f64::INFINITY, ..OptimizerConfig::default() };
    let mut learner = Learner::new(&Device::flex(), 5, &config, Net::new);
    learner.step(4, 0, 32, |net, device, _| net.losses(device)).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let error = learner.save(directory.path()).unwrap_err().to_string();
    assert!(error.contains("weight is not finite at step 4"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn weights_of_a_model_without_any_are_a_file_that_others_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.safetensors");
    let mut empty: Vec<Linear> = Vec::new();
    save_weights(&empty, &path).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert!(safetensors::SafeTensors::deserialize(&bytes).unwrap().is_empty());
    rl755_nn::load_weights(&mut empty, &path).unwrap();
}

#[test]
fn weights_of_another_shape_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("model.safetensors");
    let linear: Linear = LinearConfig::new(3, 4).init(&Device::flex());
    save_weights(&linear, &path).unwrap();
    let mut other: Linear = LinearConfig::new(4, 4).init(&Device::flex());
    let error = rl755_nn::load_weights(&mut other, &path).unwrap_err().to_string();
    assert!(
        error.ends_with("model.safetensors: `weight` is [3, 4]; this model's is [4, 4]"),
        "{error}"
    );
    let mut other: Net = Net::new(&Device::flex());
    let error = rl755_nn::load_weights(&mut other, &path).unwrap_err().to_string();
    assert!(error.contains("it has no tensor `") && error.contains("more do not fit"), "{error}");
    let mut other: Linear = LinearConfig::new(4, 4).init(&Device::flex());
    let missing = rl755_nn::load_weights(&mut other, &directory.path().join("none")).unwrap_err();
    assert!(missing.to_string().ends_with("none: no such file"));
}
