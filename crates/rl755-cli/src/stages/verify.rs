//! `rl755-verify`.

use std::path::PathBuf;

use anyhow::{Context, bail};
use rl755_data::{
    FrameCheck, IfMostlyBad, Maker, Removal, RemovalError, Statistics, VerifyConfig, VerifyError,
    VerifyReport, verify,
};
use rl755_run::{Outcome, write_atomically};

use crate::{
    Desk, Plugins, Stage, flag_values::threads, progress_bar::BYTES, stage::FROM_THE_BEGINNING,
};

/// Find corrupted records in sharded TFRecords, and take them away
///
/// Prints each bad file with the record, its offset and what is wrong. Looks at lengths and
/// checksums, whether each record is a whole rollout with the right shapes and finite numbers, the
/// structure of frames, and whether the files are those that dataset.json lists.
///
/// Exit codes: 0, all is sound; 1, something is bad, whether or not it was taken away, or nothing
/// could be verified, or no contact sheet be drawn; 2, the command line is wrong; 130, interrupted.
#[derive(Clone, Debug, clap::Args)]
pub struct Verify {
    /// The files: a pattern in quotes, such as 'data/cars.tfrecord*', or a dataset's directory
    #[arg(long, value_name = "PATTERN")]
    pattern: String,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = threads)]
    parallelism: Option<usize>,
    /// Decode every frame, too, which takes many times longer
    #[arg(long)]
    decode_frames: bool,
    /// Delete bad files, after all were looked at
    ///
    /// Nobody else may use the dataset meanwhile. The stage that wrote a file writes it again when
    /// it is run with the same flags. When more than half of the files are bad, none is touched.
    #[arg(long, group = "removal")]
    delete: bool,
    /// Move bad files into DIR, after all were looked at; as --delete otherwise
    ///
    /// They keep their names, with .1, .2 and so on after it where there is such a file already.
    #[arg(long, group = "removal", value_name = "DIR")]
    quarantine: Option<PathBuf>,
    /// Delete or move bad files even if more than half are bad
    #[arg(long, requires = "removal")]
    force: bool,
    /// Print rollouts, frames, bytes, returns, lengths, policies and histograms of the actions, and
    /// draw a contact sheet of frames
    #[arg(long)]
    stats: bool,
    /// With --stats: print the numbers as JSON; all else goes to stderr
    #[arg(long, requires = "stats")]
    json: bool,
    /// With --stats: where the contact sheet goes, a PNG picture of 8 rollouts at 8 moments each,
    /// evenly chosen
    #[arg(long, requires = "stats", default_value = "contact-sheet.png", value_name = "FILE")]
    contact_sheet: PathBuf,
}

impl Stage for Verify {
    const NAME: &'static str = "rl755-verify";
    const UNIT: &'static str = BYTES;
    const INTERRUPTED: &'static str = FROM_THE_BEGINNING;

    fn run(self, _plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome> {
        let removal = match (self.delete, &self.quarantine) {
            (true, _) => Some(Removal::Delete),
            (false, Some(directory)) => Some(Removal::Quarantine(directory.clone())),
            (false, None) => None,
        };
        let config = VerifyConfig {
            pattern: self.pattern.clone(),
            parallelism: self.parallelism.unwrap_or_else(rayon::current_num_threads),
            frames: if self.decode_frames { FrameCheck::Pixels } else { FrameCheck::Structure },
            statistics: self.stats,
            exclusive: removal.is_some(),
        };
        let report = match verify(&config, &*desk.progress, &desk.interrupt) {
            Err(VerifyError::Interrupted) => return Ok(Outcome::Interrupted { step: 0 }),
            report => report?,
        };
        for problem in &report.problems {
            self.tell(&problem.to_string(), desk)?;
        }
        if self.stats {
            self.print_statistics(&report.statistics, desk)?;
        }
        let drawn =
            if self.stats { self.draw_contact_sheet(&report.statistics, desk) } else { Ok(()) };
        let files = report.files;
        if report.is_clean() {
            if !self.json {
                desk.print(&format!(
                    "{files} files with {} records and {} steps are sound",
                    report.records, report.steps
                ))?;
            }
            return drawn.map(|()| Outcome::Complete);
        }
        // What is wrong with the files is what the program ends with.
        if let Err(error) = drawn {
            self.tell(&format!("{error:#}"), desk)?;
        }
        let bad = report.bad_files().len();
        let Some(removal) = removal else {
            if report.is_mostly_bad() {
                bail!(
                    "{bad} of {files} files are bad: that is no accident; look at what wrote them"
                );
            }
            bail!(
                "{bad} of {files} files are bad; those that can be read are taken away with \
                 --delete or --quarantine DIR{}",
                advice(&report)
            );
        };
        let if_mostly_bad = if self.force { IfMostlyBad::Remove } else { IfMostlyBad::Refuse };
        let result = report.remove_bad_files(&removal, if_mostly_bad);
        let removed = match &result {
            Err(error @ RemovalError::MostlyBad { .. }) => {
                bail!("{error}; look at what wrote them, or add --force");
            }
            Ok(removed) | Err(RemovalError::Io { removed, .. }) => &removed[..],
            Err(_) => &[],
        };
        for file in removed {
            let path = file.path.display();
            let text = match &file.moved_to {
                Some(moved_to) => format!("moved {path} to {}", moved_to.display()),
                None => format!("deleted {path}"),
            };
            self.tell(&text, desk)?;
        }
        let removed = result?.len();
        bail!(
            "{bad} of {files} files are bad or missing, and {removed} were taken away{}",
            advice(&report)
        );
    }
}

impl Verify {
    /// Prints a line that is no part of the numbers: beside JSON, not where that goes.
    fn tell(&self, text: &str, desk: &Desk) -> anyhow::Result<()> {
        if self.json {
            desk.progress.line(text);
            return Ok(());
        }
        desk.print(text)
    }

    fn print_statistics(&self, statistics: &[Statistics], desk: &Desk) -> anyhow::Result<()> {
        if self.json {
            return desk.print(&serde_json::to_string_pretty(statistics)?);
        }
        statistics.iter().try_for_each(|statistics| desk.print(&statistics.to_string()))
    }

    /// Draws rollouts of the first environment that has frames.
    fn draw_contact_sheet(&self, statistics: &[Statistics], desk: &Desk) -> anyhow::Result<()> {
        for statistics in statistics {
            let sheet = statistics.contact_sheet().context("no contact sheet can be drawn")?;
            let Some(sheet) = sheet else { continue };
            write_atomically(&self.contact_sheet, &sheet.to_png()?)
                .with_context(|| format!("cannot write {}", self.contact_sheet.display()))?;
            let text = format!(
                "frames of {} are drawn in {}",
                statistics.environment.id,
                self.contact_sheet.display()
            );
            return self.tell(&text, desk);
        }
        Ok(())
    }
}

/// What to do so that bad files are written again, as the end of a sentence; nothing where it is
/// not known what wrote them.
fn advice(report: &VerifyReport) -> String {
    let commands: Vec<&str> = report
        .makers()
        .into_iter()
        .map(|maker| match maker {
            Maker::Collecting => "rl755-collect with the same flags and --once",
            Maker::Packing => "rl755-pack with the same flags",
            Maker::Encoding => "rl755-encode with the same flags",
        })
        .collect();
    if commands.is_empty() {
        return String::new();
    }
    format!(
        "; run {} again then: what is missing is written, and all else is kept",
        commands.join(" and ")
    )
}
