//! `rl755-collect`.

use std::path::PathBuf;

use rl755_data::{CollectConfig, FrameFormat, collect};
use rl755_run::Outcome;

use crate::{
    Desk, Plugins, Stage,
    flag_values::{count, frame_format, threads},
};

/// Collect rollouts of an environment under a random policy
///
/// Several instances may write into one directory at once: each adds --num-rollouts rollouts. One
/// that was interrupted or killed goes on when it is started again with the same flags.
#[derive(Clone, Debug, clap::Args)]
pub struct Collect {
    /// The environment's versioned id
    #[arg(long, default_value = "CarRacing-v3", value_name = "ID")]
    environment: String,
    /// Who acts: `uniform`, `smooth` (Perlin noise, so that a car moves), `brownian`, or `repeated`
    /// (a uniform action held 1 to 10 steps)
    #[arg(long, default_value = "smooth", value_name = "NAME")]
    policy: String,
    /// Rollouts that this instance adds
    #[arg(long, value_name = "N", value_parser = count)]
    num_rollouts: usize,
    /// Rollouts at a time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = threads)]
    parallelism: Option<usize>,
    /// The longest a rollout gets, in steps
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = count)]
    max_steps: usize,
    /// Where the rollouts go, a file each
    #[arg(long, value_name = "DIR")]
    out_dir: PathBuf,
    /// What tracks, starts and actions are drawn from
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// How frames are stored: `png`, about 2 KB for one of CarRacing, or `tensor`, the original's
    /// tf.io.serialize_tensor, 27.7 KB, which is quicker to read
    #[arg(long, default_value_t, value_name = "FORMAT", value_parser = frame_format)]
    frame_format: FrameFormat,
    /// Do nothing where a collection with the same flags is complete, instead of adding as many
    /// rollouts again; for scripts that are started again after a failure
    #[arg(long)]
    once: bool,
}

impl Stage for Collect {
    const NAME: &'static str = "rl755-collect";
    const UNIT: &'static str = "rollouts";

    fn run(self, plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome> {
        let config = CollectConfig {
            environment: self.environment,
            policy: self.policy,
            num_rollouts: self.num_rollouts as u64,
            parallelism: self.parallelism.unwrap_or_else(rayon::current_num_threads),
            max_steps: self.max_steps as u64,
            out_dir: self.out_dir,
            seed: self.seed,
            once: self.once,
            frame_format: self.frame_format,
        };
        let report = collect(
            &config,
            &plugins.environments,
            &plugins.policies,
            &*desk.progress,
            &desk.interrupt,
        )?;
        if report.interrupted {
            return Ok(Outcome::Interrupted { step: report.resumed + report.collected });
        }
        if report.resumed == config.num_rollouts {
            let directory = config.out_dir.display();
            desk.print(&format!(
                "{} rollouts were in {directory} already (session {})",
                report.resumed, report.session
            ))?;
            return Ok(Outcome::Complete);
        }
        let before = match report.resumed {
            0 => String::new(),
            resumed => format!(", beside the {resumed} that it had"),
        };
        desk.print(&format!(
            "added {} rollouts with {} steps to {} as session {}{before}",
            report.collected,
            report.steps,
            config.out_dir.display(),
            report.session,
        ))?;
        Ok(Outcome::Complete)
    }
}
