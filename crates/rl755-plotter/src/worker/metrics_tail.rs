//! The curves of a run, from its `metrics.jsonl` as that grows.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufRead, BufReader, Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::PathBuf,
};

use serde_json::{Map, Value};

use super::series::Series;
use crate::server::Curve;

/// No more curves are drawn.
const MOST_CURVES: usize = 256;
/// Longer lines are skipped.
const LONGEST_LINE: u64 = 1 << 20;

/// Reads on from where it stopped.
#[derive(Debug)]
pub(super) struct MetricsTail {
    path: PathBuf,
    /// The file that was read: a resumed run replaces it.
    inode: u64,
    read: u64,
    /// Within a line that is too long.
    skipping: bool,
    curves: BTreeMap<String, Series>,
}

impl MetricsTail {
    /// Of the run in that directory.
    pub(super) fn new(run: &std::path::Path) -> Self {
        let path = run.join("metrics.jsonl");
        Self { path, inode: 0, read: 0, skipping: false, curves: BTreeMap::new() }
    }

    /// Reads the lines that were added, or all of a file that was replaced. Whether anything is
    /// new. A run that has not logged yet has no file.
    pub(super) fn read_on(&mut self) -> io::Result<bool> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        if metadata.ino() != self.inode || metadata.len() < self.read {
            *self = Self { path: std::mem::take(&mut self.path), ..Self::new("".as_ref()) };
            self.inode = metadata.ino();
        }
        if metadata.len() == self.read {
            return Ok(false);
        }
        file.seek(SeekFrom::Start(self.read))?;
        let mut file = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = (&mut file).take(LONGEST_LINE).read_until(b'\n', &mut line)? as u64;
            let whole = line.ends_with(b"\n");
            if !whole && length < LONGEST_LINE {
                // It is still being written.
                return Ok(true);
            }
            self.read += length;
            if whole && !self.skipping {
                self.add(&line);
            }
            self.skipping = !whole;
        }
    }

    /// What was read, by name.
    pub(super) fn curves(&self) -> impl Iterator<Item = Curve> {
        self.curves.iter().map(|(name, series)| series.curve(name))
    }

    /// A line that is no metrics is not shown.
    fn add(&mut self, line: &[u8]) {
        let Ok(metrics) = serde_json::from_slice::<Map<String, Value>>(line) else { return };
        let Some(step) = metrics.get("step").and_then(Value::as_f64) else { return };
        for (name, value) in metrics {
            // What is no number is written as null.
            let Some(value) = value.as_f64().or(value.is_null().then_some(f64::NAN)) else {
                continue;
            };
            if name == "step"
                || self.curves.len() >= MOST_CURVES && !self.curves.contains_key(&name)
            {
                continue;
            }
            self.curves.entry(name).or_default().push(step, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use rl755_run::Metrics;

    use super::*;

    fn names_and_ends(tail: &MetricsTail) -> Vec<(String, f64, f64)> {
        let last = |v: &[f64]| v.last().copied().unwrap();
        tail.curves().map(|c| (c.name, last(&c.x), last(&c.y))).collect()
    }

    #[test]
    fn curves_grow_with_the_metrics_of_a_run_and_are_read_anew_when_it_resumes() {
        let run = tempfile::tempdir().unwrap();
        let mut tail = MetricsTail::new(run.path());
        assert!(!tail.read_on().unwrap());
        let mut metrics = Metrics::open(run.path(), 0).unwrap();
        metrics.log(1, &[("loss".into(), 3.0), ("train/kl".into(), 0.5)]).unwrap();
        assert!(tail.read_on().unwrap());
        assert!(!tail.read_on().unwrap());
        metrics.log(2, &[("loss".into(), 2.0)]).unwrap();
        metrics.log(3, &[("loss".into(), 1.0)]).unwrap();
        assert!(tail.read_on().unwrap());
        let expected = [("loss".to_owned(), 3.0, 1.0), ("train/kl".to_owned(), 1.0, 0.5)];
        assert_eq!(names_and_ends(&tail), expected);
        // It dies and goes on after step 1.
        let mut metrics = Metrics::open(run.path(), 1).unwrap();
        metrics.log(2, &[("loss".into(), 2.5)]).unwrap();
        assert!(tail.read_on().unwrap());
        assert_eq!(names_and_ends(&tail)[0], ("loss".to_owned(), 2.0, 2.5));
        assert_eq!(tail.curves().next().unwrap().x, [1.0, 2.0]);
    }

    #[test]
    fn lines_that_are_no_metrics_are_skipped_and_halves_waited_for() {
        let run = tempfile::tempdir().unwrap();
        let mut file = File::create(run.path().join("metrics.jsonl")).unwrap();
        let mut tail = MetricsTail::new(run.path());
        file.write_all(b"\n[1]\n\xff\xfe\n{\"loss\":1}\n{\"step\":1,\"a\":\"b\",\"c\":null}\n")
            .unwrap();
        file.write_all(&vec![b'x'; 3 << 20]).unwrap();
        file.write_all(b"\n{\"step\":2,\"c\":4}\n{\"step\":3,").unwrap();
        tail.read_on().unwrap();
        assert_eq!(names_and_ends(&tail), [("c".to_owned(), 2.0, 4.0)]);
        file.write_all(b"\"c\":5}\n").unwrap();
        tail.read_on().unwrap();
        assert_eq!(names_and_ends(&tail), [("c".to_owned(), 3.0, 5.0)]);
    }

    #[test]
    fn only_so_many_curves_are_kept() {
        let run = tempfile::tempdir().unwrap();
        let mut metrics = Metrics::open(run.path(), 0).unwrap();
        let values: Vec<_> = (0..1000).map(|i| (format!("metric {i}"), 1.0)).collect();
        metrics.log(1, &values).unwrap();
        let mut tail = MetricsTail::new(run.path());
        tail.read_on().unwrap();
        assert_eq!(tail.curves().count(), MOST_CURVES);
    }
}
