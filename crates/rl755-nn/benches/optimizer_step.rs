//! A step of Adam over 4.3 million parameters, as many as the VAE has: ours beside burn's.

use std::time::Instant;

use burn::{
    module::Module,
    nn::{Linear, LinearConfig},
    optim::{AdamConfig, GradientsParams},
    tensor::Device,
};
use rl755_nn::{Learner, Losses, OptimizerConfig};

#[derive(Module, Debug)]
struct Layers {
    layers: Vec<Linear>,
}

impl Layers {
    fn new(device: &Device) -> Self {
        let sizes = [(1024, 32), (32, 1024), (1024, 3200), (2048, 256), (800, 512)];
        Self { layers: sizes.map(|(from, to)| LinearConfig::new(from, to).init(device)).into() }
    }

    /// With gradients that cost next to nothing.
    fn loss(&self) -> Losses {
        let sums = self.layers.iter().map(|layer| {
            let bias = layer.bias.as_ref().expect("layers have one");
            layer.weight.val().sum() + bias.val().sum()
        });
        Losses { total: sums.reduce(|a, b| a + b).expect("there are layers"), parts: vec![] }
    }
}

fn main() {
    let device = Device::flex();
    let config = OptimizerConfig { max_gradient_norm: Some(1.0), ..OptimizerConfig::default() };
    let mut learner = Learner::new(&device, 1, &config, Layers::new);
    let mut model = learner.model().clone();
    let parameters = rl755_nn::num_parameters(&model);
    let mut adam = AdamConfig::new().with_epsilon(1e-8).init();
    let mut best = [f64::INFINITY; 3];
    let mut time = |which: usize, work: &mut dyn FnMut()| {
        let started = Instant::now();
        work();
        best[which] = best[which].min(started.elapsed().as_secs_f64());
    };
    for round in 1..=60 {
        time(0, &mut || drop(learner.model().loss().total.backward()));
        time(1, &mut || {
            learner.step(round, round, 1, |model, _, _| model.loss()).expect("numbers are finite");
        });
        time(2, &mut || {
            let gradients = GradientsParams::from_grads(model.loss().total.backward(), &model);
            model = adam.step(1e-3, model.clone(), gradients);
        });
    }
    let [alone, ours, burns] = best.map(|seconds| seconds * 1e3);
    eprintln!("{parameters} parameters, in ms: loss and gradients {alone:.2}");
    eprintln!(
        "with their norm, clipping and our Adam {ours:.2}; with burn's Adam alone {burns:.2}"
    );
}
