//! Training steps on the same batch, as the stages do them: loss, gradients, their norm, Adam.

use burn::tensor::{Device, Distribution, Tensor};
use rl755_encoder::{EncoderModel, Vae64, Vae64Config};
use rl755_env::Space;
use rl755_nn::{Learner, OptimizerConfig};
use rl755_sequence::{SequenceBatch, SequenceNetwork};
use rl755_tests::parameters::SIZES;

use crate::{Job, Outcome};

/// Frames in a step of the VAE.
const FRAMES: usize = 64;

/// Sequences in a step of a sequence model.
const SEQUENCES: usize = 32;

/// Trains `vae-64`.
pub(crate) struct VaeTraining {
    learner: Learner<Vae64>,
    frames: Tensor<2>,
    step: u64,
}

impl VaeTraining {
    pub(crate) fn new() -> Outcome<Self> {
        let (config, input) =
            (Vae64Config::default(), Space::Image { height: 64, width: 64, channels: 3 });
        let learner = Learner::new(&Device::flex(), 1, &OptimizerConfig::default(), |device| {
            Vae64::init(&config, &input, device).expect("the defaults are sound")
        });
        let frames =
            Tensor::random([FRAMES, input.width()], Distribution::Default, learner.device());
        Ok(Self { learner, frames, step: 0 })
    }
}

impl Job for VaeTraining {
    fn work(&mut self) -> Outcome<u64> {
        self.step += 1;
        let frames = &self.frames;
        let loss = |model: &Vae64, _: &Device, _| model.losses(frames.clone());
        self.learner.step(self.step, self.step, FRAMES, loss)?;
        Ok(FRAMES as u64)
    }
}

/// Trains a sequence model at its defaults.
pub(crate) struct SequenceTraining<N> {
    learner: Learner<N>,
    batch: SequenceBatch,
    step: u64,
}

impl<N: SequenceNetwork> SequenceTraining<N> {
    pub(crate) fn new() -> Outcome<Self> {
        let learner = Learner::new(
            &Device::flex(),
            1,
            &N::default_optimizer(&N::Config::default()),
            |device| {
                N::init(&N::Config::default(), &SIZES, device).expect("the defaults are sound")
            },
        );
        let length = SIZES.sequence_length;
        let normal = |width: usize| {
            let distribution = Distribution::Normal(0.0, 1.0);
            Tensor::<3>::random([SEQUENCES, length, width], distribution, learner.device())
        };
        let zeros = || Tensor::<2>::zeros([SEQUENCES, length], learner.device());
        let batch = SequenceBatch {
            latents: normal(SIZES.latent),
            actions: normal(SIZES.action),
            targets: normal(SIZES.latent),
            rewards: zeros(),
            terminals: zeros(),
            followed: None,
        };
        Ok(Self { learner, batch, step: 0 })
    }
}

impl<N: SequenceNetwork> Job for SequenceTraining<N> {
    fn work(&mut self) -> Outcome<u64> {
        self.step += 1;
        let batch = &self.batch;
        let loss = |network: &N, _: &Device, _| network.losses(batch);
        self.learner.step(self.step, self.step, SEQUENCES, loss)?;
        Ok((SEQUENCES * SIZES.sequence_length) as u64)
    }
}
