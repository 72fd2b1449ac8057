//! What a stage was asked to do and what it read, kept in `stages/STAGE.json` of the pipeline's
//! directory, so that the next run knows what is done and unchanged.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context;
use rl755_run::{Digest, digest_bytes, digest_file, write_atomically};
use serde::{Deserialize, Serialize};

use super::stage::Stage;

/// What decides about a stage's results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Work {
    /// The flags, without those that say only where and how fast it runs.
    pub(crate) command: Vec<String>,
    /// The digests of what the stages it reads have written.
    pub(crate) inputs: BTreeMap<String, Digest>,
    /// The version of the programs.
    pub(crate) version: String,
}

/// A stage's record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) work: Work,
    /// Whether the stage said that it is done.
    pub(crate) finished: bool,
    /// Seconds so far, over all resumptions.
    pub(crate) seconds: f64,
    /// The most memory its processes held at once, in bytes.
    pub(crate) peak_memory_bytes: Option<u64>,
}

impl Work {
    /// The work of `stage` as things are in the directory `out`. An input that is not there has no
    /// digest.
    pub(crate) fn now(stage: Stage, command: Vec<String>, out: &Path) -> anyhow::Result<Self> {
        let mut inputs = BTreeMap::new();
        for read in stage.reads() {
            let Some(directory) = read.output(out) else { continue };
            let digest = digest_output(&directory)
                .with_context(|| format!("cannot read {}", directory.display()))?;
            if let Some(digest) = digest {
                inputs.insert(read.name().to_owned(), digest);
            }
        }
        let version = format!("rl755 {}", env!("CARGO_PKG_VERSION"));
        Ok(Self { command, inputs, version })
    }

    /// What differs from `old`, in words.
    pub(crate) fn difference(&self, old: &Self) -> Option<String> {
        if self.version != old.version {
            return Some(format!("it was made by {}, this is {}", old.version, self.version));
        }
        for (name, digest) in &self.inputs {
            if old.inputs.get(name) != Some(digest) {
                return Some(format!("what {name} wrote has changed"));
            }
        }
        if self.command != old.command {
            let new = |flag: &&String| !old.command.contains(flag);
            let gone = |flag: &&String| !self.command.contains(flag);
            let words = |flags: Vec<&String>| {
                flags.into_iter().map(String::as_str).collect::<Vec<_>>().join(" ")
            };
            let is = words(self.command.iter().filter(new).collect());
            let was = words(old.command.iter().filter(gone).collect());
            return Some(match (is.is_empty(), was.is_empty()) {
                (false, false) => format!("its flags have changed: {is}, was {was}"),
                (false, true) => format!("its flags have changed: {is} is new"),
                (true, false) => format!("its flags have changed: {was} is gone"),
                (true, true) => "its flags have changed".to_owned(),
            });
        }
        (self.inputs != old.inputs).then(|| "it reads less than before".to_owned())
    }
}

impl Record {
    /// The record of a stage, if there is a readable one.
    pub(crate) fn read(stage: Stage, out: &Path) -> Option<Self> {
        // One that cannot be read is as good as none: the stage is done again.
        serde_json::from_slice(&fs::read(path(stage, out)).ok()?).ok()
    }

    pub(crate) fn write(&self, stage: Stage, out: &Path) -> anyhow::Result<()> {
        let path = path(stage, out);
        write_atomically(&path, &serde_json::to_vec_pretty(self)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

fn path(stage: Stage, out: &Path) -> PathBuf {
    out.join("stages").join(format!("{}.json", stage.name()))
}

/// What stands for everything in a stage's directory: its manifest, or for collected rollouts the
/// names and lengths of the files. `None` when there is neither.
fn digest_output(directory: &Path) -> io::Result<Option<Digest>> {
    for name in ["dataset.json", "manifest.json"] {
        match digest_file(&directory.join(name)) {
            Ok(digest) => return Ok(Some(digest)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let rollouts = rollout_files(directory)?;
    if rollouts.is_empty() {
        return Ok(None);
    }
    let lines: Vec<String> =
        rollouts.iter().map(|(name, length)| format!("{name} {length}\n")).collect();
    Ok(Some(digest_bytes(lines.concat().as_bytes())))
}

/// The files that collect wrote, with their lengths, sorted.
pub(crate) fn rollout_files(directory: &Path) -> io::Result<Vec<(String, u64)>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("rollout-") && name.ends_with(".tfrecord") {
            files.push((name, entry.metadata()?.len()));
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(command: &[&str], input: &str) -> Work {
        Work {
            command: command.iter().map(|&word| word.to_owned()).collect(),
            inputs: BTreeMap::from([("pack".to_owned(), digest_bytes(input.as_bytes()))]),
            version: "rl755 1".to_owned(),
        }
    }

    #[test]
    fn differences_are_named() {
        let old = work(&["--train-steps 10"], "a");
        let check = |new: Work, expected: &str| {
            assert_eq!(new.difference(&old).as_deref().unwrap_or("none"), expected);
        };
        check(old.clone(), "none");
        check(
            work(&["--train-steps 20"], "a"),
            "its flags have changed: --train-steps 20, was --train-steps 10",
        );
        check(work(&["--train-steps 10", "--x"], "a"), "its flags have changed: --x is new");
        check(work(&["--train-steps 10"], "b"), "what pack wrote has changed");
        let mut newer = old.clone();
        newer.version = "rl755 2".to_owned();
        check(newer, "it was made by rl755 1, this is rl755 2");
        let mut less = old.clone();
        less.inputs.clear();
        check(less, "it reads less than before");
    }

    #[test]
    fn inputs_are_known_by_manifest_or_by_rollout_files() {
        let out = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            write_atomically(&out.path().join(name), text.as_bytes()).unwrap();
        };
        let inputs = |stage| Work::now(stage, vec![], out.path()).unwrap().inputs;
        assert!(inputs(Stage::Pack).is_empty());
        write("rollouts/rollout-1.tfrecord", "12");
        let one = inputs(Stage::Pack);
        write("rollouts/sessions/1.json", "not a rollout");
        assert_eq!(inputs(Stage::Pack), one);
        write("rollouts/rollout-2.tfrecord", "34");
        assert_ne!(inputs(Stage::Pack), one);
        write("dataset/dataset.json", "{}");
        write("encoder/manifest.json", "{}");
        assert_eq!(inputs(Stage::Encode).len(), 2);
    }

    #[test]
    fn records_are_read_back_and_damaged_ones_ignored() {
        let out = tempfile::tempdir().unwrap();
        let record = Record {
            work: work(&["--a"], "x"),
            finished: true,
            seconds: 1.5,
            peak_memory_bytes: Some(7),
        };
        assert_eq!(Record::read(Stage::Pack, out.path()), None);
        record.write(Stage::Pack, out.path()).unwrap();
        assert_eq!(Record::read(Stage::Pack, out.path()), Some(record));
        fs::write(path(Stage::Pack, out.path()), "{").unwrap();
        assert_eq!(Record::read(Stage::Pack, out.path()), None);
    }
}
