//! Packing what collecting wrote: a file for each rollout.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use rl755_env::EnvSpec;
use rl755_run::{Interrupt, digest_bytes};

use super::{Checked, CorruptRollout, InputRollout, Meter, PackError, Source, digest_of, io_error};
use crate::{
    DatasetManifest, FrameCheck,
    collect::rollout_files,
    original::is_unknown,
    record::RecordPosition,
    schema::told_apart,
    verify::check::{CheckedFile, FileChecker},
};

/// The rollout files in a directory. They become records as they are, framing included.
pub(super) struct Collected {
    directory: PathBuf,
    files: Vec<PathBuf>,
}

impl Collected {
    pub(super) fn in_directory(directory: &Path) -> Result<Self, PackError> {
        let files = rollout_files(directory).map_err(io_error(directory))?;
        if files.is_empty() {
            return Err(PackError::NoRollouts { path: directory.to_owned() });
        }
        Ok(Self { directory: directory.to_owned(), files })
    }
}

impl Source for Collected {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn check(&self, meter: &Meter<'_>, interrupt: &Interrupt) -> Result<Checked, PackError> {
        // Frames are decoded: a picture that cannot be would end a training days later.
        let checker = || FileChecker::new(FrameCheck::Pixels);
        let check = |checker: &mut FileChecker, path: &PathBuf| {
            if interrupt.is_raised() {
                return Err(PackError::Interrupted);
            }
            let checked = checker.check(path, |_| Ok(()), |_, _| ());
            meter.add(1);
            Ok(checked)
        };
        let files = self.files.par_iter();
        let checked: Vec<_> = files.map_init(checker, check).collect::<Result<_, _>>()?;
        let mut sound = Vec::new();
        let mut corrupt = Vec::new();
        let mut first: Option<(PathBuf, EnvSpec)> = None;
        for (path, checked) in self.files.iter().zip(checked) {
            match judge(checked) {
                Ok((file, environment)) => {
                    let (first, expected) =
                        first.get_or_insert_with(|| (path.clone(), environment.clone()));
                    if environment != *expected {
                        return Err(mixed(path, &environment, first, expected));
                    }
                    sound.push(InputRollout {
                        path: path.clone(),
                        position: RecordPosition { offset: 0, length: file.bytes },
                        record: 0,
                        steps: u32::try_from(file.steps)
                            .expect("a record has fewer than 2³² bytes"),
                        digest: file.digest,
                    });
                }
                Err(reason) => {
                    // It will not be copied.
                    meter.add(1);
                    corrupt.push(CorruptRollout { path: path.clone(), reason });
                }
            }
        }
        let Some((_, environment)) = first else {
            return Err(PackError::Corrupt { files: corrupt, total: self.len() });
        };
        let (input, digest) = (self.directory.clone(), digest_of(&sound));
        Ok(Checked { sound, corrupt, environment, encoder: None, input, digest })
    }

    fn framed_record(
        &self,
        rollout: &InputRollout,
        _manifest: &DatasetManifest,
    ) -> Result<Vec<u8>, PackError> {
        let bytes = fs::read(&rollout.path).map_err(io_error(&rollout.path))?;
        if digest_bytes(&bytes) != rollout.digest {
            return Err(PackError::Changed { path: rollout.path.clone() });
        }
        Ok(bytes)
    }
}

/// Whether a file holds one sound raw rollout.
fn judge(checked: io::Result<CheckedFile>) -> Result<(CheckedFile, EnvSpec), String> {
    let mut file = checked.map_err(|e| e.to_string())?;
    if let Some((record, offset, problem)) = file.problems.first() {
        return Err(format!("record {record} at byte {offset}: {problem}"));
    }
    match file.environment.take() {
        Some(environment) if is_unknown(&environment) => {
            Err("it is a file of the original project; give it as TFRecords".to_owned())
        }
        Some(_) if file.encoded => Err("it holds latents, not observations".to_owned()),
        Some(environment) if file.records == 1 && file.steps > 0 => Ok((file, environment)),
        Some(_) if file.records == 1 => Err("it has no steps".to_owned()),
        _ => Err(format!("it has {} records, not 1", file.records)),
    }
}

fn mixed(path: &Path, found: &EnvSpec, first: &Path, expected: &EnvSpec) -> PackError {
    let [found, expected] = told_apart(found, expected);
    PackError::Mixed { path: path.to_owned(), found, first: first.to_owned(), expected }
}
