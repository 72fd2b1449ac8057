//! Controllers on latent and hidden state: CMA-ES, evaluation in environments, videos.

mod controller;

pub use controller::{Controller, ControllerInputs};
