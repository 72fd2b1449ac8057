//! Which shards packing has written so far, so that an interrupted one goes on.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use rl755_run::{AtomicFile, Digest, digest_bytes};

use crate::{
    DatasetManifest, ShardEntry,
    dataset::encoded_part::is_intact,
    dataset::manifest::readable_json,
    dataset::shard_log::{ShardLog, WrittenShards, parse_log},
};

/// The log's name in the directory `parts` of the dataset's.
pub(crate) const PACK_LOG: &str = "packed.jsonl";

/// The log of the shards of one plan. The directory is locked while there is one.
pub(super) struct ProgressLog {
    directory: PathBuf,
    found: WrittenShards,
    log: Mutex<ShardLog>,
}

impl ProgressLog {
    /// Goes on with the log in `directory` of the dataset that `manifest` describes before it has
    /// shards. One of another plan is replaced.
    pub(super) fn of(directory: &Path, manifest: &DatasetManifest) -> io::Result<Self> {
        let parts = directory.join("parts");
        fs::create_dir_all(&parts)?;
        AtomicFile::clear_temporaries(&parts, |name| name == PACK_LOG)?;
        let path = parts.join(PACK_LOG);
        let plan = plan(manifest);
        let found = fs::read(&path).ok().and_then(|text| parse_log::<Digest>(&text));
        let found = found.filter(|(of, _)| *of == plan).map(|(_, shards)| shards);
        let found = found.unwrap_or_default();
        let log = Mutex::new(ShardLog::begin(&path, &plan, &found)?);
        Ok(Self { directory: directory.to_owned(), found, log })
    }

    /// The entry of the shard called `name`, if it is there as it was written.
    pub(super) fn kept(&self, name: &str) -> Option<ShardEntry> {
        self.found.get(name).filter(|entry| is_intact(&self.directory, entry)).cloned()
    }

    /// Adds a shard that has its name.
    pub(super) fn add(&self, entry: &ShardEntry) -> io::Result<()> {
        // A line that a thread which died left unfinished is not read.
        self.log.lock().unwrap_or_else(PoisonError::into_inner).add(entry)
    }
}

/// The digest of what shapes the shards' bytes: not of where the inputs were, nor of what was left
/// out of them.
fn plan(manifest: &DatasetManifest) -> Digest {
    let mut manifest = manifest.clone();
    manifest.inputs.iter_mut().for_each(|input| input.path.clear());
    manifest.encoder.iter_mut().for_each(|encoder| encoder.path.clear());
    manifest.skipped.clear();
    digest_bytes(&readable_json(&manifest))
}
