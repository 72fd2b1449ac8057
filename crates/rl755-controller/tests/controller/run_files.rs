//! What a training leaves behind, and how it is interrupted in the middle.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use rl755_run::{Interrupt, Progress};

/// The bytes of every checkpoint's files, and of those called `others`.
pub(crate) fn contents(run: &Path, others: &[&str]) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for checkpoint in fs::read_dir(run.join("checkpoints")).unwrap() {
        for file in fs::read_dir(checkpoint.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.strip_prefix(run).unwrap().display().to_string();
            files.insert(name, fs::read(path).unwrap());
        }
    }
    for name in others {
        files.insert((*name).to_owned(), fs::read(run.join(name)).unwrap());
    }
    files
}

/// Raises a flag at the end of so many notes that end with a word: within a step.
pub(crate) struct RaiseAfter {
    interrupt: Interrupt,
    word: &'static str,
    left: AtomicUsize,
}

impl RaiseAfter {
    pub(crate) fn new(interrupt: &Interrupt, word: &'static str, notes: usize) -> Self {
        Self { interrupt: interrupt.clone(), word, left: notes.into() }
    }
}

impl Progress for RaiseAfter {
    fn set(&self, _: u64, _: u64) {}

    fn note(&self, text: &str) {
        if text.ends_with(self.word) && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.interrupt.raise();
        }
    }
}
