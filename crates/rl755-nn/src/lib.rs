//! What the model crates share: the optimiser step with its numeric checks, and weights and
//! optimiser state on disk.
//!
//! The encoder and sequence crates do not know of each other, and both train; this crate is the
//! part of training that needs tensors. The loop around it is [`rl755_run::train`].

mod adam;
mod average;
mod gradients;
mod layers;
mod learner;
mod losses;
mod model_size;
mod noise;
mod numbers;
mod optimizer_config;
mod optimizer_state;
mod parts;
mod precision;
mod schedule;
mod seeded;
mod watch;
mod weights;

pub use gradients::first_not_finite;
pub use layers::{glorot, linear};
pub use learner::{Compute, Learner};
pub use losses::Losses;
pub use model_size::ModelSize;
pub use noise::{dropout_mask, standard_normal, standard_uniform, with_examples};
pub use numbers::values;
pub use optimizer_config::OptimizerConfig;
pub use precision::{Precision, full_precision};
pub use schedule::{Decay, Schedule};
pub use seeded::seeded;
pub use watch::watch;
pub use weights::{WeightsError, load_weights, num_parameters, save_weights};
