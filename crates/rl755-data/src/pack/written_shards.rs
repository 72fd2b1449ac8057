//! Which shards packing has written so far, so that an interrupted one goes on.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use rl755_run::{AtomicFile, Digest, digest_bytes, write_atomically};
use serde::{Deserialize, Serialize};

use crate::{DatasetManifest, ShardEntry, encoded_part::is_intact, manifest::readable_json};

/// The file's name in the directory `parts` of the dataset's.
const NAME: &str = "packed.json";

/// `parts/packed.json`: the shards that are written, beside what shapes their bytes. The directory
/// is locked while there is one.
pub(super) struct WrittenShards {
    directory: PathBuf,
    path: PathBuf,
    file: Mutex<WorkFile>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkFile {
    /// The digest of the manifest before it has shards.
    plan: Digest,
    /// By name.
    shards: BTreeMap<String, ShardEntry>,
}

impl WrittenShards {
    /// What is written in `directory` of the dataset that `manifest` describes.
    pub(super) fn of(directory: &Path, manifest: &DatasetManifest) -> io::Result<Self> {
        let parts = directory.join("parts");
        fs::create_dir_all(&parts)?;
        AtomicFile::clear_temporaries(&parts, |name| name == NAME)?;
        let path = parts.join(NAME);
        // Where the inputs were does not matter.
        let mut manifest = manifest.clone();
        manifest.inputs.iter_mut().for_each(|input| input.path.clear());
        manifest.encoder.iter_mut().for_each(|encoder| encoder.path.clear());
        manifest.skipped.clear();
        let plan = digest_bytes(&readable_json(&manifest));
        // One of another plan, or that cannot be read, is replaced: its shards are written again.
        let found = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let file = found
            .filter(|file: &WorkFile| file.plan == plan)
            .unwrap_or_else(|| WorkFile { plan, shards: BTreeMap::new() });
        Ok(Self { directory: directory.to_owned(), path, file: Mutex::new(file) })
    }

    /// The entry of the shard called `name`, if it is there as it was written.
    pub(super) fn kept(&self, name: &str) -> Option<ShardEntry> {
        let entry = self.file().shards.get(name).cloned();
        entry.filter(|entry| is_intact(&self.directory, entry))
    }

    /// Adds a shard that has its name.
    pub(super) fn add(&self, entry: ShardEntry) -> io::Result<()> {
        let mut file = self.file();
        file.shards.insert(entry.file.clone(), entry);
        write_atomically(&self.path, &readable_json(&*file))
    }

    fn file(&self) -> MutexGuard<'_, WorkFile> {
        // The map is whole even where another thread died.
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
