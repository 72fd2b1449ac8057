//! Metrics of a training: `metrics.jsonl` and a TensorBoard event file.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{tensorboard::EventWriter, write_atomically};

/// The metrics could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct MetricsError {
    /// The file or directory.
    pub path: PathBuf,
    /// What the file system said.
    pub source: io::Error,
}

/// Writes the metrics of a run.
///
/// Each line of `metrics.jsonl` is an object with `step` and the metrics by name.
#[derive(Debug)]
pub struct Metrics {
    directory: PathBuf,
    lines: File,
    events: EventWriter,
}

impl Metrics {
    /// Opens the metrics of the run in `directory`, which goes on after `step`: what was logged
    /// of later steps, by a process that died before its next checkpoint, is taken out.
    ///
    /// # Errors
    /// When the files cannot be read or written.
    pub fn open(directory: &Path, step: u64) -> Result<Self, MetricsError> {
        let path = directory.join("metrics.jsonl");
        let at = |source| MetricsError { path: path.clone(), source };
        if path.exists() {
            let text = fs::read_to_string(&path).map_err(at)?;
            let kept: String = text.split_inclusive('\n').filter(|l| is_until(l, step)).collect();
            write_atomically(&path, kept.as_bytes()).map_err(at)?;
        }
        let lines = File::options().create(true).append(true).open(&path).map_err(at)?;
        let events = EventWriter::create(directory, step).map_err(at)?;
        Ok(Self { directory: directory.to_owned(), lines, events })
    }

    /// Logs `values` of `step`.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn log(&mut self, step: u64, values: &[(String, f64)]) -> Result<(), MetricsError> {
        let mut object = serde_json::Map::new();
        object.insert("step".into(), step.into());
        for (name, value) in values {
            object.insert(name.clone(), (*value).into());
        }
        let mut line = serde_json::Value::Object(object).to_string();
        line.push('\n');
        // One write for the whole line, so that a kill leaves no half of it.
        self.lines.write_all(line.as_bytes()).map_err(|source| self.at(source))?;
        self.events.scalars(step, values).map_err(|source| self.at(source))
    }

    /// Shows a PNG picture of `[height, width]` pixels in TensorBoard.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn image(
        &mut self,
        step: u64,
        tag: &str,
        size: [usize; 2],
        png: &[u8],
    ) -> Result<(), MetricsError> {
        self.events.image(step, tag, size, png).map_err(|source| self.at(source))
    }

    fn at(&self, source: io::Error) -> MetricsError {
        MetricsError { path: self.directory.clone(), source }
    }
}

/// Whether a line of the metrics is whole and of a step up to `step`.
fn is_until(line: &str, step: u64) -> bool {
    let value: Option<serde_json::Value> = serde_json::from_str(line).ok();
    line.ends_with('\n')
        && value.and_then(|v| v.get("step")?.as_u64()).is_some_and(|logged| logged <= step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_after_the_checkpoint_are_taken_out() {
        let directory = tempfile::tempdir().unwrap();
        let mut metrics = Metrics::open(directory.path(), 0).unwrap();
        for step in 1..=5 {
            metrics.log(step, &[("loss".into(), step as f64)]).unwrap();
        }
        metrics.lines.write_all(b"{\"step\": 2, \"lo").unwrap();
        drop(metrics);
        let mut metrics = Metrics::open(directory.path(), 3).unwrap();
        metrics.log(4, &[("loss".into(), 0.5)]).unwrap();
        let text = fs::read_to_string(directory.path().join("metrics.jsonl")).unwrap();
        assert_eq!(text.lines().count(), 4);
        assert_eq!(text.lines().last().unwrap(), r#"{"loss":0.5,"step":4}"#);
    }
}
