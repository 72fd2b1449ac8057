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

mod ahead;
mod check;
mod collect;
mod dataset;
mod dataset_registry;
mod encoded_part;
mod encoded_record;
mod example;
mod frame_block;
mod frame_format;
mod frame_sampler;
#[cfg(any(test, fuzzing))]
#[doc(hidden)]
pub mod fuzzing;
mod manifest;
mod original;
mod pack;
mod partition;
mod png_frame;
mod policies;
mod policy;
pub mod proto;
mod raw_record;
mod reader_threads;
pub mod record;
mod rollout;
mod schema;
mod session;
mod shard;
mod shard_files;
mod shard_log;
mod statistics;
mod tensor_proto;
mod verify;
mod visit_order;
mod window_sampler;
mod wire;

pub use ahead::Ahead;
pub use check::FrameCheck;
pub use collect::{CollectConfig, CollectError, CollectReport, collect};
pub use dataset::{Dataset, DatasetError, Split, train_and_validation};
pub use dataset_registry::{DatasetNameError, DatasetRegistry};
pub use encoded_part::{EncodedPart, PartConfig, PartError, SubShard};
pub use frame_format::FrameFormat;
pub use frame_sampler::{FrameSampler, FrameSamplerConfig, Observations, unit_floats};
pub use manifest::{
    DatasetManifest, EncoderSource, MANIFEST_FORMAT, MANIFEST_NAME, OtherDataset, ShardEntry,
};
pub use original::OriginalRollout;
pub use pack::{
    CorruptRollout, OnCorrupt, OriginalInput, PackConfig, PackError, PackInput, PackReport, pack,
};
pub use partition::partition;
pub use png_frame::{FrameError, FrameShape, check_frame, decode_frame, encode_frame};
pub use policy::{Policy, PolicyError, PolicyRegistry};
pub use raw_record::RolloutRecorder;
pub use reader_threads::MemoryBudget;
pub use record::{RecordError, RecordFault};
pub use rollout::{EncodedRollout, Rollout};
pub use schema::{SCHEMA_VERSION, SchemaError, StoredRollout};
pub use shard::{ShardError, ShardWriter, shard_name};
pub use statistics::{
    ActionHistogram, ContactSheet, ContactSheetError, LatentStatistics, Statistics, Summary,
};
pub use verify::{
    Fault, Maker, Problem, Removal, RemovalError, Removed, VerifyConfig, VerifyError, VerifyReport,
    verify,
};
pub use window_sampler::{WindowSampler, WindowSamplerConfig, Windows};
pub use wire::WireError;
