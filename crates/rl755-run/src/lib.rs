//! Run directories, manifests, checkpoints, metrics, seeds and interruption: what every stage
//! shares, without tensors and without environments.

mod atomic_file;
mod checkpoint;
mod checkpoint_policy;
mod digest;
mod interrupt;
mod manifest;
mod metrics;
mod name;
mod panic;
mod progress;
mod random;
mod record;
mod run_dir;
mod run_lock;
mod setting;
mod spectator;
mod tensorboard;
mod trained_run;
mod training;

pub use atomic_file::{AtomicFile, directory_of, sync_directory, write_atomically};
pub use checkpoint::Checkpoints;
pub use checkpoint_policy::CheckpointPolicy;
pub use digest::{Digest, digest_bytes, digest_file};
pub use interrupt::Interrupt;
pub use manifest::{Input, Manifest, Status};
pub use metrics::{Metrics, MetricsError};
pub use name::{UnknownName, nearest};
pub use panic::panic_message;
pub use progress::{Progress, Silent, duration, metric};
pub use random::{Random, derive_seed};
pub use record::{masked_crc, write_record};
pub use run_dir::{RunDir, RunError};
pub use run_lock::RunLock;
pub use setting::{SettingError, parse_settings};
pub use spectator::{NoSpectator, Spectator};
pub use trained_run::{Choice, ModelIdentity, TrainedRun, WEIGHTS, write_config};
pub use training::{Outcome, Trainee, TrainingConfig, TrainingError, train};
