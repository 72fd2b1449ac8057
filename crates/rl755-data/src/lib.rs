//! Rollouts as sharded TFRecords: writing, reading, verifying and sampling them.
//!
//! A rollout is stored as one `tf.train.SequenceExample`, which TensorFlow and others read too;
//! `data-schemas/` describes the records and the manifest. Files appear under their final name
//! only when complete, and everything that is read is checked against its checksum.
//!
//! ```
//! use rl755_data::*;
//! use rl755_env::EnvRegistry;
//! use rl755_run::{Interrupt, Silent};
//!
//! # let directory = tempfile::tempdir()?;
//! let (environments, policies) = (EnvRegistry::with_builtin(), PolicyRegistry::with_builtin());
//! let collecting = CollectConfig {
//!     environment: "CartPole-v1".to_owned(),
//!     policy: "uniform".to_owned(),
//!     num_rollouts: 10,
//!     parallelism: 2,
//!     max_steps: 100,
//!     out_dir: directory.path().join("rollouts"),
//!     seed: 1,
//!     frame_format: FrameFormat::Png,
//!     once: false,
//! };
//! collect(&collecting, &environments, &policies, &Silent, &Interrupt::new())?;
//!
//! let packing = PackConfig {
//!     input: PackInput::RolloutDir(collecting.out_dir),
//!     out_dir: directory.path().join("data"),
//!     out_name: "cartpole".to_owned(),
//!     rollouts_per_tfrecord_file: 5,
//!     parallelism: 2,
//!     validation_fraction: 0.1,
//!     on_corrupt: OnCorrupt::Fail,
//! };
//! pack(&packing, &Silent, &Interrupt::new())?;
//!
//! let dataset = Dataset::open(&packing.out_dir)?;
//! let sampler = FrameSampler::new(dataset.split("train")?, FrameSamplerConfig::default())?;
//! let Observations::Vectors(batch) = sampler.batch(0)? else { panic!("CartPole has no frames") };
//! assert_eq!(batch.dim(), (64, 4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod collect;
mod dataset;
mod frame;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod original;
mod pack;
mod partition;
pub mod proto;
pub mod record;
mod rollout;
mod sampling;
mod schema;
mod statistics;
mod verify;

pub use collect::{
    CollectConfig, CollectError, CollectReport, Policy, PolicyError, PolicyRegistry, collect,
};
pub use dataset::{
    Dataset, DatasetError, DatasetManifest, DatasetNameError, DatasetRegistry, EncodedPart,
    EncoderSource, MANIFEST_FORMAT, OtherDataset, PartConfig, PartError, ShardEntry, ShardError,
    ShardWriter, Split, SubShard, shard_name, train_and_validation,
};
pub use frame::{FrameError, FrameFormat, FrameShape, check_frame, decode_frame, encode_frame};
pub use original::OriginalRollout;
pub use pack::{
    CorruptRollout, OnCorrupt, OriginalInput, PackConfig, PackError, PackInput, PackReport, pack,
};
pub use proto::WireError;
pub use record::{RecordError, RecordFault};
pub use rollout::{EncodedRollout, Rollout};
pub use sampling::{
    Ahead, FrameSampler, FrameSamplerConfig, MemoryBudget, Observations, WindowSampler,
    WindowSamplerConfig, Windows, unit_floats,
};
pub use schema::{RolloutRecorder, SchemaError, StoredRollout};
pub use statistics::{
    ActionHistogram, ContactSheet, ContactSheetError, LatentStatistics, Statistics, Summary,
};
pub use verify::{
    Fault, FrameCheck, IfMostlyBad, Maker, Problem, Removal, RemovalError, Removed, VerifyConfig,
    VerifyError, VerifyReport, verify,
};
