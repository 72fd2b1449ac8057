//! What the model crates share: the optimiser step with its numeric checks, and weights and
//! optimiser state on disk.
//!
//! The encoder and sequence crates do not know of each other, and both train; this crate is the
//! part of training that needs tensors. The loop around it is [`rl755_run::train`].

mod adam;
mod gradients;
mod learner;
mod noise;
mod numbers;
mod optimizer_state;
mod schedule;
mod seeded;
mod weights;

pub use gradients::first_not_finite;
pub use learner::{Learner, Losses, OptimizerConfig};
pub use noise::{dropout_mask, standard_normal, standard_uniform, with_examples};
pub use schedule::{Decay, Schedule};
pub use seeded::seeded;
pub use weights::{WeightsError, copy_weights, load_weights, num_parameters, save_weights};
