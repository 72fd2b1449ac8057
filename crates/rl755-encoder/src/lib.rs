//! Observation encoders, such as the VAE of World Models, their training, and encoding rollouts.
//!
//! A model is a type that implements [`EncoderModel`]; an [`EncoderRegistry`] knows models by
//! name, trains them in run directories, and loads what was trained as an [`ObservationEncoder`],
//! which the later stages use without knowing the type. [`encode`] turns a raw dataset into an
//! encoded one.
//!
//! ```
//! use rl755_encoder::{EncoderRegistry, TrainEncoderConfig};
//!
//! let registry = EncoderRegistry::with_builtin();
//! let config = TrainEncoderConfig { model: "vea-64".to_owned(), ..Default::default() };
//! let error = registry.default_config(&config.model).unwrap_err();
//! assert!(error.to_string().contains("did you mean `vae-64`?"));
//! ```

mod augmentation;
mod autoencoder;
mod batches;
mod context;
mod conv_settings;
mod conv_stack;
mod conv_vae;
mod encode;
mod encoder;
mod error;
mod frame_vae;
mod frames;
mod frozen_conv;
mod frozen_linear;
mod frozen_mlp;
mod identity;
mod input_form;
mod layers;
mod load;
mod mlp;
mod model;
mod model_config;
mod nt_xent;
#[cfg(test)]
mod parity;
mod picture;
mod registry;
mod resize;
mod run;
mod simclr;
mod train_config;
mod trained;
mod training;
mod vae;
mod validation;
mod variational;

pub use augmentation::AugmentationSettings;
pub use autoencoder::Autoencoder;
pub use context::StageContext;
pub use conv_settings::ConvSettings;
pub use encode::{EncodeConfig, encode};
pub use encoder::{ObservationEncoder, Representation};
pub use error::EncoderError;
pub use frame_vae::{FrameVae, FrameVaeConfig};
pub use frames::{flatten_frames, frames};
pub use frozen_conv::Spread;
pub use identity::{Identity, IdentityConfig};
pub use mlp::{Mlp, MlpConfig, Normalization};
pub use model::{CpuEncoder, EncoderModel, Latents};
pub use registry::EncoderRegistry;
pub use run::{encoder_checkpoint, encoder_identity};
pub use simclr::{SimClr, SimClrConfig};
pub use train_config::TrainEncoderConfig;
pub use vae::{Vae, Vae64, Vae64Config, Vae96, Vae96Config, VaeConfig};
pub use variational::VariationalSettings;
