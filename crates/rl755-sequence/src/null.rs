//! No memory at all: the controller sees the latent alone.

use burn::{module::Module, tensor::Device};
use ndarray::{ArrayView2, ArrayViewMut2};
use rl755_nn::Losses;
use rl755_run::Random;
use serde::{Deserialize, Serialize};

use crate::{SequenceBatch, SequenceCell, SequenceError, SequenceNetwork, Sizes};

/// `null`: a model without parameters, whose hidden state has no numbers.
///
/// World Models measures what memory is worth by leaving it out (632 ± 251 points on car racing,
/// against 906 ± 21 with it). The model needs no training and predicts zeros: that the next
/// latent is the average one, or, with difference targets, that it is the last one again.
#[derive(Module, Debug)]
pub struct NullNetwork {
    latent: usize,
}

/// The null model has nothing to set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NullConfig {}

impl SequenceNetwork for NullNetwork {
    const NAME: &'static str = "null";
    type Config = NullConfig;
    type Cell = NullCell;

    fn init(_: &NullConfig, sizes: &Sizes, _: &Device) -> Result<Self, SequenceError> {
        Ok(Self { latent: sizes.latent })
    }

    fn losses(&self, batch: &SequenceBatch) -> Losses {
        let errors = batch.targets.clone().square().mean_dim(2).flatten(0, 2);
        Losses { total: batch.mean_latent_loss(errors), parts: Vec::new() }
    }

    fn cell(&self) -> NullCell {
        NullCell
    }

    fn baseline(&self, squared_changes: &[f64]) -> Option<f64> {
        Some(squared_changes.iter().sum::<f64>() / squared_changes.len() as f64)
    }
}

/// The cell of [`NullNetwork`].
#[derive(Clone, Copy, Debug, Default)]
pub struct NullCell;

impl SequenceCell for NullCell {
    type Memory = ();

    fn hidden_size(&self) -> usize {
        0
    }

    fn begin(&self) {}

    fn step(
        &self,
        _: &mut [()],
        _: ArrayView2<'_, f32>,
        _: ArrayView2<'_, f32>,
        _: ArrayViewMut2<'_, f32>,
    ) {
    }

    fn predict(&self, _: &[()], _: f64, _: &mut [Random], mut targets: ArrayViewMut2<'_, f32>) {
        targets.fill(0.0);
    }
}
