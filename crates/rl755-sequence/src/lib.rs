//! Sequence models over latents and actions: transformers and LSTMs, their training, and
//! dreaming.

mod batches;
mod cell;
mod context;
mod dream;
mod dream_picture;
mod dream_stage;
mod dropout;
mod error;
mod infilling;
mod kernel;
mod latents;
mod layers;
mod load;
mod model;
mod model_config;
mod network;
mod null;
mod recurrent;
mod registry;
mod retrieval;
mod run;
mod train;
mod train_config;
mod trained;
mod transformer;
mod validation;
mod values;

pub use cell::SequenceCell;
pub use context::{DecodeLatents, StageContext};
pub use dream::dream;
pub use error::SequenceError;
pub use infilling::{Infilling, InfillingCell, InfillingConfig, InfillingMemory};
pub use model::{Gaps, SequenceModel, Session};
pub use network::{SequenceBatch, SequenceNetwork, Sizes};
pub use null::{NullCell, NullConfig, NullNetwork};
pub use recurrent::{
    LstmCell, LstmConfig, LstmMemory, LstmNetwork, MdnRnn, MdnRnnConfig, RecurrentConfig,
    RecurrentNetwork, RecurrentSettings,
};
pub use registry::SequenceRegistry;
pub use retrieval::{Retrieval, RetrievalCell, RetrievalConfig, RetrievalMemory};
pub use run::{SequenceRunConfig, sequence_identity};
pub use train_config::TrainSequenceConfig;
pub use trained::trained;
pub use transformer::{Transformer, TransformerCell, TransformerConfig, TransformerMemory};
