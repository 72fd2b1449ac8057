//! `rl755-verify`.

use anyhow::bail;
use rl755_data::{VerifyError, verify};
use rl755_run::Outcome;

use crate::{Desk, Plugins, Stage, flag_values::threads, stage::FROM_THE_BEGINNING};

/// Find corrupted records in sharded TFRecords
///
/// Prints each bad file with the record, its offset and what is wrong. The exit code is 0 only when
/// all is well.
#[derive(Clone, Debug, clap::Args)]
pub struct Verify {
    /// The files: a pattern in quotes, such as 'data/cars.tfrecord*', or a dataset's directory
    #[arg(long, value_name = "PATTERN")]
    pattern: String,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = threads)]
    parallelism: Option<usize>,
}

impl Stage for Verify {
    const NAME: &'static str = "rl755-verify";
    const UNIT: &'static str = "files";
    const INTERRUPTED: &'static str = FROM_THE_BEGINNING;

    fn run(self, _plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome> {
        let parallelism = self.parallelism.unwrap_or_else(rayon::current_num_threads);
        let report = match verify(&self.pattern, parallelism, &*desk.progress, &desk.interrupt) {
            Err(VerifyError::Interrupted) => return Ok(Outcome::Interrupted { step: 0 }),
            report => report?,
        };
        for problem in &report.problems {
            desk.print(&problem.to_string())?;
        }
        let files = report.files;
        if report.is_clean() {
            desk.print(&format!(
                "{files} files with {} records and {} steps are sound",
                report.records, report.steps
            ))?;
            return Ok(Outcome::Complete);
        }
        let bad = report.bad_files().len();
        if report.is_mostly_bad() {
            bail!("{bad} of {files} files are bad: that is no accident; look at what wrote them");
        }
        bail!("{bad} of {files} files are bad; delete them, or write them again");
    }
}
