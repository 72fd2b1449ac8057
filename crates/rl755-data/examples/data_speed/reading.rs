//! Verifying a dataset, and reading its bytes without looking at them.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use rl755_data::{VerifyConfig, verify};
use rl755_run::{Interrupt, Silent};

use crate::{Job, Outcome};

/// Bytes that are read at a time: they stay in a core's cache.
const BLOCK: usize = 1 << 18;

/// Reads every file of a dataset.
pub(crate) struct Reading {
    files: Vec<PathBuf>,
}

impl Reading {
    pub(crate) fn new(_threads: usize, dataset: &Path) -> Outcome<Self> {
        let entries = fs::read_dir(dataset)?.map(|entry| entry.map(|entry| entry.path()));
        let mut files = entries.collect::<io::Result<Vec<_>>>()?;
        files.retain(|path| path.is_file());
        Ok(Self { files })
    }
}

impl Job for Reading {
    fn work(&mut self) -> Outcome<u64> {
        let read = |path: &PathBuf| -> io::Result<u64> {
            let (mut file, mut block, mut bytes) = (File::open(path)?, vec![0; BLOCK], 0);
            loop {
                match file.read(&mut block)? {
                    0 => return Ok(bytes),
                    read => bytes += read as u64,
                }
            }
        };
        Ok(self.files.par_iter().map(read).sum::<io::Result<u64>>()?)
    }
}

/// Calls [`verify`] on a dataset.
pub(crate) struct Verifying {
    config: VerifyConfig,
}

impl Verifying {
    pub(crate) fn new(threads: usize, dataset: &Path) -> Outcome<Self> {
        let pattern = dataset.to_str().ok_or("not UTF-8")?.to_owned();
        let config = VerifyConfig { pattern, parallelism: threads, ..VerifyConfig::default() };
        Ok(Self { config })
    }
}

impl Job for Verifying {
    fn work(&mut self) -> Outcome<u64> {
        let report = verify(&self.config, &Silent, &Interrupt::new())?;
        if !report.is_clean() {
            return Err("the dataset is damaged".into());
        }
        Ok(report.bytes)
    }
}
