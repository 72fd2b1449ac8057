//! Why rollouts could not be packed.

use std::{
    io,
    path::{Path, PathBuf},
};

use rl755_run::SettingError;

use super::CorruptRollout;
use crate::{SchemaError, dataset::manifest::OtherDataset};

/// Rollouts could not be packed. No dataset appears then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// A setting that cannot be worked with.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// There are no rollouts in the directory.
    #[error("{} has no rollouts (files called rollout-0000-000000.tfrecord)", path.display())]
    NoRollouts {
        /// The directory.
        path: PathBuf,
    },
    /// There are no files of the original project.
    #[error("{0}")]
    NoFiles(String),
    /// Some rollouts are damaged.
    #[error("{} of {total} rollouts are damaged: {}", files.len(), Listed(files))]
    Corrupt {
        /// The damaged ones.
        files: Vec<CorruptRollout>,
        /// How many there are, sound ones included.
        total: usize,
    },
    /// The rollouts are of several environments.
    #[error("{} is a rollout of {found}, but {} is one of {expected}; a dataset has one environment",
        path.display(), first.display())]
    Mixed {
        /// A rollout.
        path: PathBuf,
        /// Its environment.
        found: String,
        /// The first rollout.
        first: PathBuf,
        /// Its environment.
        expected: String,
    },
    /// The directory holds another dataset.
    #[error(transparent)]
    OtherDataset(#[from] OtherDataset),
    /// Another process packs into the directory, or reads the dataset that is there.
    #[error("another process is packing into {}, or reads the dataset there", path.display())]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// A rollout changed while it was being packed.
    #[error("{} changed while it was being packed", path.display())]
    Changed {
        /// The file of the rollout.
        path: PathBuf,
    },
    /// A rollout that was found sound cannot be stored.
    #[error("record {record} of {}: {source}", path.display())]
    Store {
        /// The file of the rollout.
        path: PathBuf,
        /// Which record of it.
        record: u64,
        /// What is wrong.
        source: SchemaError,
    },
    /// A rollout is not the same when it is read from its new record.
    #[error("{} changes when it is stored anew; the memory is faulty, or this is a bug",
        path.display())]
    NotAsRead {
        /// The file of the rollout.
        path: PathBuf,
    },
    /// It was asked to stop. The shards that are written are kept; the same call goes on.
    #[error("interrupted; the same command goes on where it stopped")]
    Interrupted,
    /// The threads could not be started.
    #[error("the threads could not be started: {0}")]
    Threads(String),
    /// The file system said no.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

/// The first few of damaged rollouts, for a message.
struct Listed<'a>(&'a [CorruptRollout]);

impl std::fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 5;
        for (i, file) in self.0.iter().take(SHOWN).enumerate() {
            let comma = if i == 0 { "" } else { "; " };
            write!(f, "{comma}{}: {}", file.path.display(), file.reason)?;
        }
        match self.0.len().checked_sub(SHOWN) {
            Some(more) if more > 0 => write!(f, "; and {more} more"),
            _ => Ok(()),
        }
    }
}

pub(super) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> PackError {
    let path = path.to_owned();
    move |source| PackError::Io { path, source }
}
