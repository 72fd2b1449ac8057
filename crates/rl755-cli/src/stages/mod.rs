//! The stages' flags, and what each does with them. One file a stage.

mod collect;
mod encode;
mod evaluate;
mod pack;
mod plot;
mod train_controller;
mod train_encoder;
mod train_policy;
mod train_sequence;
mod verify;

pub use collect::Collect;
pub use encode::Encode;
pub use evaluate::Evaluate;
pub use pack::Pack;
pub use plot::Plot;
pub use train_controller::TrainController;
pub use train_encoder::TrainEncoder;
pub use train_policy::TrainPolicy;
pub use train_sequence::TrainSequence;
pub use verify::Verify;
