//! The [`SequenceCell`] trait: how a trained model takes in a step and predicts, as plain
//! arithmetic on a few rows.

use ndarray::{Array2, ArrayView2, ArrayViewMut2};
use rl755_run::Random;

use crate::Gaps;

/// A trained model, ready to follow episodes step by step.
///
/// Sessions hold one memory per episode, split their rows over threads, and check shapes; a cell
/// only computes. What it gives for a row must not depend on the other rows.
pub trait SequenceCell: Send + Sync + 'static {
    /// What the model remembers of one episode.
    type Memory: Clone + Send + Sync;

    /// Numbers in the hidden state that controllers see.
    fn hidden_size(&self) -> usize;

    /// The memory of an episode before its first step.
    fn begin(&self) -> Self::Memory;

    /// Takes in one step of each row's episode: `latents` is `[rows, latent]`, `actions` is
    /// `[rows, action]`. Fills `hidden`, `[rows, hidden]`.
    fn step(
        &self,
        memories: &mut [Self::Memory],
        latents: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
        hidden: ArrayViewMut2<'_, f32>,
    );

    /// Predicts what the network was trained to predict, `[rows, latent]`, after the last step:
    /// the most likely value at temperature 0, else a draw, with a random stream for each row.
    /// Models without a distribution ignore both.
    fn predict(
        &self,
        memories: &[Self::Memory],
        temperature: f64,
        randoms: &mut [Random],
        targets: ArrayViewMut2<'_, f32>,
    );

    /// The reward that each row's last step is predicted to give, where the model predicts it.
    fn predict_rewards(&self, _memories: &[Self::Memory]) -> Option<Vec<f32>> {
        None
    }

    /// The probability that the task ended with each row's last step, where the model predicts it.
    fn predict_dones(&self, _memories: &[Self::Memory]) -> Option<Vec<f32>> {
        None
    }

    /// The latents of `gaps` with those that are not known filled in, `[steps, latent]`, for models
    /// that can ([`SequenceModel::fill`](crate::SequenceModel::fill)).
    fn fill(
        &self,
        _gaps: &Gaps<'_>,
        _temperature: f64,
        _random: &mut Random,
    ) -> Option<Array2<f32>> {
        None
    }
}
