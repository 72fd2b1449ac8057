//! The [`SequenceModel`] trait: a trained model of the dynamics, as controllers and dreams use it.

use ndarray::{Array1, Array2, ArrayView2};
use rl755_run::Random;

use crate::SequenceError;

/// A trained sequence model. Object safe, and works on batches of independent episodes.
pub trait SequenceModel: Send + Sync {
    /// Numbers in a latent.
    fn latent_size(&self) -> usize;

    /// Numbers in an action.
    fn action_size(&self) -> usize;

    /// Numbers in the hidden state that controllers see.
    fn hidden_size(&self) -> usize;

    /// Begins `batch` episodes side by side.
    fn session(&self, batch: usize) -> Box<dyn Session + '_>;

    /// Fills in the latents of `gaps` that are not known: `[steps, latent]`, with the known ones as
    /// they are. Models with a distribution draw them at `temperature`, from `random`; at 0 it does
    /// not matter.
    ///
    /// # Errors
    /// When the model cannot fill in latents, which only `infilling` of this crate's can, the
    /// shapes do not fit, or `temperature` is negative or not finite.
    fn fill(
        &self,
        gaps: &Gaps<'_>,
        temperature: f64,
        random: &mut Random,
    ) -> Result<Array2<f32>, SequenceError> {
        let _ = (gaps, temperature, random);
        Err(SequenceError::CannotFill)
    }
}

/// A sequence with latents that are not known.
#[derive(Clone, Copy, Debug)]
pub struct Gaps<'a> {
    /// The latents, `[steps, latent]`; what stands where they are not known does not matter.
    pub latents: ArrayView2<'a, f32>,
    /// The actions chosen there, `[steps, action]`. The last one does not matter.
    pub actions: ArrayView2<'a, f32>,
    /// Which of the latents are known, one for each step.
    pub known: &'a [bool],
}

/// Episodes in progress: the model's memory of each row of a batch.
///
/// What a row gives depends only on that row, whatever the batch.
pub trait Session: Send {
    /// The hidden state of each row, `[batch, hidden]`; zeros before a row's first step.
    fn hidden(&self) -> ArrayView2<'_, f32>;

    /// Takes in the latent seen and the action chosen at this step, `[batch, latent]` and
    /// `[batch, action]`, and updates the hidden states.
    ///
    /// # Errors
    /// When the shapes do not fit.
    fn step(
        &mut self,
        latents: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<(), SequenceError>;

    /// Predicts the next latents, `[batch, latent]`, from what the last [`step`](Self::step) took
    /// in: drawn at `temperature` for models with a distribution (0 for its most likely value),
    /// with one stream of `randoms` per row.
    ///
    /// # Errors
    /// When there is not one stream per row, a row has had no step, or `temperature` is negative or
    /// not finite.
    fn predict(
        &mut self,
        temperature: f64,
        randoms: &mut [Random],
    ) -> Result<Array2<f32>, SequenceError>;

    /// The reward that the last [`step`](Self::step) is predicted to give, `[batch]`; `None` for
    /// models that do not predict it.
    ///
    /// # Errors
    /// When a row has had no step.
    fn predicted_rewards(&self) -> Result<Option<Array1<f32>>, SequenceError> {
        Ok(None)
    }

    /// The probability that the task ended with the last [`step`](Self::step), `[batch]`; `None` for
    /// models that do not predict it.
    ///
    /// # Errors
    /// When a row has had no step.
    fn predicted_dones(&self) -> Result<Option<Array1<f32>>, SequenceError> {
        Ok(None)
    }

    /// Forgets the episode of `row`, which starts anew.
    fn reset_row(&mut self, row: usize);

    /// Keeps only `rows`, in that order: the batch shrinks when episodes end.
    fn select(&mut self, rows: &[usize]);
}
