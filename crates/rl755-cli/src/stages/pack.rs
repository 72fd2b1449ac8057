//! `rl755-pack`.

use std::path::PathBuf;

use rl755_data::{OnCorrupt, PackConfig, PackError, pack};
use rl755_run::Outcome;

use crate::{
    Desk, Plugins, Stage,
    flag_values::{count, threads},
};

/// Pack collected rollouts into sharded TFRecords and verify them
///
/// Writes NAME.tfrecord-00003-of-00074 and a manifest, dataset.json. Aim for shards of 100 to 200
/// MB; a CarRacing rollout of 1,000 steps takes about 2.5 MB.
#[derive(Clone, Debug, clap::Args)]
pub struct Pack {
    /// The collected rollouts: a directory that rl755-collect wrote
    #[arg(long, alias = "pickle-dir", value_name = "DIR")]
    rollout_dir: PathBuf,
    /// Where the dataset goes
    #[arg(long, value_name = "DIR")]
    out_dir: PathBuf,
    /// What the shards are called: NAME.tfrecord-00003-of-00074
    #[arg(long, default_value = "rollouts", value_name = "NAME")]
    out_name: String,
    /// Rollouts in each shard [alias: --pickles-per-tfrecord-file]
    #[arg(long, alias = "pickles-per-tfrecord-file", default_value_t = 50, value_name = "N",
          value_parser = count)]
    rollouts_per_tfrecord_file: usize,
    /// Threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = threads)]
    parallelism: Option<usize>,
    /// The part of the rollouts, the last ones, kept for validation
    #[arg(long, default_value_t = 0.1, value_name = "F")]
    validation_fraction: f64,
    /// Leave damaged rollouts out instead of stopping
    #[arg(long)]
    skip_corrupt: bool,
}

impl Stage for Pack {
    const NAME: &'static str = "rl755-pack";
    const UNIT: &'static str = "rollouts";

    fn run(self, _plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome> {
        let config = PackConfig {
            rollout_dir: self.rollout_dir,
            out_dir: self.out_dir,
            out_name: self.out_name,
            rollouts_per_tfrecord_file: self.rollouts_per_tfrecord_file,
            parallelism: self.parallelism.unwrap_or_else(rayon::current_num_threads),
            validation_fraction: self.validation_fraction,
            on_corrupt: if self.skip_corrupt { OnCorrupt::Skip } else { OnCorrupt::Fail },
        };
        let report = match pack(&config, &*desk.progress, &desk.interrupt) {
            Err(PackError::Interrupted) => return Ok(Outcome::Interrupted { step: 0 }),
            report => report?,
        };
        for session in &report.open_sessions {
            desk.progress.line(&format!(
                "warning: collecting session {session} of {} is not complete",
                config.rollout_dir.display()
            ));
        }
        for skipped in &report.skipped {
            desk.progress.line(&format!("left out {}: {}", skipped.path.display(), skipped.reason));
        }
        let manifest = report.dataset.manifest();
        let splits: Vec<String> =
            manifest.splits.iter().map(|(name, range)| format!("{} {name}", range.len())).collect();
        desk.print(&format!(
            "{} rollouts in {} shards in {} ({} shards were there already)",
            splits.join(" and "),
            manifest.shards.len(),
            config.out_dir.display(),
            report.kept
        ))?;
        Ok(Outcome::Complete)
    }
}
