//! The [`Controller`] trait: from what the world model knows to actions.

use ndarray::{ArrayView2, ArrayViewMut2};
use rl755_env::Space;

/// A controller's architecture. Its parameters are a plain vector, which an evolution varies.
///
/// Object safe, and works on batches in which each row has parameters of its own, so that a whole
/// population steps together.
pub trait Controller: Send + Sync {
    /// How many parameters it has.
    fn num_parameters(&self) -> usize;

    /// Chooses an action for each row.
    ///
    /// `parameters[i]` are those of row i; `latents` is `[batch, latent]`, `hidden` is
    /// `[batch, hidden]`, `actions` is `[batch, action]`.
    fn act(
        &self,
        parameters: &[&[f32]],
        latents: ArrayView2<'_, f32>,
        hidden: ArrayView2<'_, f32>,
        actions: ArrayViewMut2<'_, f32>,
    );
}

/// What a controller is made for.
#[derive(Clone, Debug, PartialEq)]
pub struct ControllerInputs {
    /// Numbers in a latent.
    pub latent_size: usize,
    /// Numbers in the sequence model's hidden state; 0 without one.
    pub hidden_size: usize,
    /// What the environment takes.
    pub action_space: Space,
}
