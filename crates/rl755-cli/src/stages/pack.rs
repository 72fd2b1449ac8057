//! `rl755-pack`.

use std::path::PathBuf;

use anyhow::Context;
use rl755_data::{FrameFormat, OnCorrupt, OriginalInput, PackConfig, PackError, PackInput, pack};
use rl755_run::Outcome;

use crate::{
    Desk, Plugins, Stage,
    flag_values::{count, frame_format, threads},
};

/// Pack collected rollouts into sharded TFRecords and verify them
///
/// Writes NAME.tfrecord-00003-of-00074 and a manifest, dataset.json. Aim for shards of 100 to 200
/// MB; a CarRacing rollout of 1,000 steps takes about 2 MB. Files of the original Python project,
/// raw or encoded, become a dataset too: --tfrecords 'DIR/cars.tfrecord*' --environment CarRacing-v3
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("rollouts").required(true).args(["rollout_dir", "tfrecords"]))]
pub struct Pack {
    /// The collected rollouts: a directory that rl755-collect wrote
    #[arg(long, alias = "pickle-dir", value_name = "DIR")]
    rollout_dir: Option<PathBuf>,
    /// Instead, TFRecords of the original project: a file, a directory, or a quoted pattern
    #[arg(long, value_name = "PATTERN", requires = "environment")]
    tfrecords: Option<String>,
    /// The environment that the TFRecords are of, which they do not say
    #[arg(long, value_name = "ID", conflicts_with = "rollout_dir")]
    environment: Option<String>,
    /// How the frames of the TFRecords are stored anew: `png`, or `tensor` as they are [default: png]
    #[arg(long, value_name = "FORMAT", value_parser = frame_format, conflicts_with = "rollout_dir")]
    frame_format: Option<FrameFormat>,
    /// Where the dataset goes
    #[arg(long, value_name = "DIR")]
    out_dir: PathBuf,
    /// What the shards are called: NAME.tfrecord-00003-of-00074
    #[arg(long, default_value = "rollouts", value_name = "NAME")]
    out_name: String,
    /// The most rollouts in a shard [alias: --pickles-per-tfrecord-file]
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

    fn run(self, plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome> {
        let input = match (self.rollout_dir, self.tfrecords, self.environment) {
            (Some(directory), ..) => PackInput::RolloutDir(directory),
            (None, tfrecords, environment) => PackInput::Original(OriginalInput {
                tfrecords: tfrecords.context("--rollout-dir or --tfrecords is needed")?,
                environment: plugins
                    .environments
                    .make(&environment.context("--tfrecords needs --environment")?)?
                    .spec()
                    .clone(),
                frame_format: self.frame_format.unwrap_or_default(),
            }),
        };
        let config = PackConfig {
            input,
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
            desk.progress.line(&format!("warning: collecting session {session} is not complete"));
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
