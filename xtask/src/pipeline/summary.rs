//! What the pipeline ends with: where everything is, what it took, and the scores.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::Context;
use rl755_run::{duration, write_atomically};
use serde::Serialize;

use super::{scores::Scores, stage::Stage};

/// What became of a stage in this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// It was done from the beginning.
    Done,
    /// It was gone on with.
    Resumed,
    /// It was done before.
    Skipped,
}

/// One stage's line.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) stage: &'static str,
    pub(crate) outcome: Outcome,
    /// Seconds it took, over all its resumptions, in whichever run that was.
    pub(crate) seconds: f64,
    pub(crate) peak_memory_bytes: Option<u64>,
    /// Where its output is.
    pub(crate) directory: Option<PathBuf>,
    pub(crate) disk_bytes: u64,
}

impl Line {
    /// The line of a stage that is done.
    pub(crate) fn new(
        stage: Stage,
        outcome: Outcome,
        seconds: f64,
        peak_memory_bytes: Option<u64>,
        out: &Path,
    ) -> Self {
        let directory = stage.output(out);
        // The summary is no reason to fail.
        let disk_bytes =
            directory.as_deref().map_or(0, |directory| disk_used(directory).unwrap_or(0));
        Self { stage: stage.name(), outcome, seconds, peak_memory_bytes, directory, disk_bytes }
    }
}

/// `summary.json`, and what is printed.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    /// Version of the file's format, 1.
    pub(crate) format: u32,
    pub(crate) made_by: String,
    pub(crate) environment: String,
    pub(crate) preset: String,
    pub(crate) device: String,
    pub(crate) seed: u64,
    pub(crate) out: PathBuf,
    pub(crate) stages: Vec<Line>,
    /// Of this run alone, everything included but building the programs.
    pub(crate) seconds: f64,
    /// The most that any stage held at once.
    pub(crate) peak_memory_bytes: Option<u64>,
    /// Of the whole directory, with what was moved aside.
    pub(crate) disk_bytes: u64,
    pub(crate) controller: Scores,
    pub(crate) baseline: Scores,
    /// How far the controller's mean is above the baseline's, in standard errors of the difference.
    pub(crate) standard_errors_above_baseline: Option<f64>,
}

impl Summary {
    /// As Markdown.
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!(
            "# {} with the preset {}\n\nDevice {}, seed {}, {}.\n\n",
            self.environment, self.preset, self.device, self.seed, self.made_by
        );
        let mut rows =
            vec![["stage", "", "time", "peak memory", "disk", "where"].map(String::from)];
        for line in &self.stages {
            rows.push([
                line.stage.to_owned(),
                match line.outcome {
                    Outcome::Done => "done".to_owned(),
                    Outcome::Resumed => "resumed".to_owned(),
                    Outcome::Skipped => "skipped".to_owned(),
                },
                duration(line.seconds),
                line.peak_memory_bytes.map_or_else(String::new, bytes),
                line.directory.as_ref().map_or_else(String::new, |_| bytes(line.disk_bytes)),
                line.directory.as_ref().map_or_else(String::new, |d| d.display().to_string()),
            ]);
        }
        rows.push([
            "all".to_owned(),
            String::new(),
            duration(self.stages.iter().map(|line| line.seconds).sum()),
            self.peak_memory_bytes.map_or_else(String::new, bytes),
            bytes(self.disk_bytes),
            self.out.display().to_string(),
        ]);
        text.push_str(&table(&rows));
        if self.stages.iter().any(|line| line.outcome == Outcome::Skipped) {
            let _ = write!(
                text,
                "\nSkipped stages were done and unchanged; their time and memory are of the run \
                 that did them.\nThis run took {}.\n",
                duration(self.seconds)
            );
        }
        let (controller, baseline) = (&self.controller, &self.baseline);
        let rules = controller.rules.as_ref().map_or_else(String::new, |rule| format!(", {rule}"));
        let _ = write!(
            text,
            "\nScores in {} over the same {} episodes{rules} (mean ± standard error):\n\n",
            controller.environment, controller.episodes
        );
        text.push_str(&table(&[
            ["who", "score", "standard deviation"].map(String::from),
            score_row("controller", controller),
            score_row("random policy", baseline),
        ]));
        let apart = match self.standard_errors_above_baseline {
            Some(apart) if apart >= 0.0 => {
                format!("The controller is {apart:.1} standard errors above the random policy.")
            }
            Some(apart) => {
                format!("The controller is {:.1} standard errors below the random policy.", -apart)
            }
            None => "Neither score varies, so there is no standard error to compare with.".into(),
        };
        let _ = write!(text, "\n{apart}\n");
        text
    }

    /// Writes `summary.json` and `summary.md` into the pipeline's directory.
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let json = serde_json::to_vec_pretty(self)?;
        for (name, text) in [("summary.json", json), ("summary.md", self.markdown().into_bytes())] {
            let path = self.out.join(name);
            write_atomically(&path, &text)
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

fn score_row(who: &str, scores: &Scores) -> [String; 3] {
    [
        who.to_owned(),
        format!("{:.1} ± {:.1}", scores.mean, scores.standard_error),
        format!("{:.1}", scores.standard_deviation),
    ]
}

/// A Markdown table whose source is aligned too. The first row is its head.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).max(3)
    };
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        for (column, cell) in row.iter().enumerate() {
            let _ = write!(text, "| {cell:<0$} ", width(column));
        }
        text.push_str("|\n");
        if number == 0 {
            (0..N).for_each(|column| {
                let _ = write!(text, "| {} ", "-".repeat(width(column)));
            });
            text.push_str("|\n");
        }
    }
    text
}

/// `1.4 GB`, of 10⁹ bytes
pub(crate) fn bytes(bytes: u64) -> String {
    let bytes = bytes as f64;
    if bytes >= 1e9 {
        format!("{:.2} GB", bytes / 1e9)
    } else if bytes >= 1e6 {
        format!("{:.0} MB", bytes / 1e6)
    } else {
        format!("{:.1} kB", bytes / 1e3)
    }
}

/// The lengths of all files below `directory`.
pub(crate) fn disk_used(directory: &Path) -> io::Result<u64> {
    let mut total = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        total += if metadata.is_dir() { disk_used(&entry.path())? } else { metadata.len() };
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        assert_eq!(bytes(1_234_000_000), "1.23 GB");
        assert_eq!(bytes(12_345_678), "12 MB");
        assert_eq!(bytes(1_500), "1.5 kB");
    }

    #[test]
    fn tables_are_aligned() {
        let rows = [["a".to_owned(), "±".to_owned()], ["long".to_owned(), "b".to_owned()]];
        let expected = "| a    | ±   |\n| ---- | --- |\n| long | b   |\n";
        assert_eq!(table(&rows), expected);
    }
}
