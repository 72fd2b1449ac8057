//! `cargo xtask pipeline`: the stages one after another, as processes.
//!
//! ```text
//! OUT/preset.toml      the preset as resolved; can be given to --preset again
//! OUT/stages/*.json    what each stage was asked to do and what it read
//! OUT/rollouts, dataset, encoder, encoded, sequence, controller, evaluation, baseline
//! OUT/logs             what the processes of a shared stage said
//! OUT/summary.json, summary.md
//! ```

mod build;
mod command_line;
mod decision;
pub(crate) mod devices;
mod fan_out;
mod preset;
pub(crate) mod programs;
mod record;
mod runner;
mod scores;
mod stage;
mod summary;

use std::{path::PathBuf, process::ExitCode, time::Instant};

use anyhow::Context;
use rl755_env::EnvRegistry;
use rl755_run::{Interrupt, RunLock, write_atomically};

pub(crate) use self::build::Build;
use self::{
    command_line::CommandLine,
    devices::Devices,
    programs::{Programs, shortened},
    runner::{Ended, Runner},
    scores::Scores,
    stage::Stage,
    summary::Summary,
};
use crate::{
    command::INTERRUPTED,
    mujoco,
    workspace::{self, quoted},
};

/// Run the whole recipe: collect, pack, verify, train-encoder, encode, train-sequence,
/// train-controller, and evaluate beside a random policy
///
/// Builds the stages' programs and runs each as a process. What is done and unchanged is skipped,
/// what was interrupted goes on, and what has changed is done again with everything after it; its
/// old output is kept under another name.
#[derive(clap::Args)]
#[command(after_help = format!("Presets:\n{}", preset::list()))]
pub(crate) struct Pipeline {
    /// The environment's versioned id [default: the preset's, or CarRacing-v3]
    #[arg(long, value_name = "ID")]
    env: Option<String>,
    /// A preset's name, or the path of a .toml file
    #[arg(long, default_value = "quick", value_name = "NAME")]
    preset: String,
    /// Where models run: flex (the CPU), cuda:0, cuda:0,1 (encoding uses all, the rest the first),
    /// or tch
    #[arg(long, default_value = "flex", value_name = "DEVICE")]
    device: Devices,
    /// Where everything goes [default: runs/ENV-PRESET in the workspace]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What everything random is drawn from [default: the preset's, or 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Do this stage and all after it again, though they are done
    #[arg(long, value_name = "STAGE")]
    from: Option<Stage>,
    /// Show what would be done, and the commands, without doing anything
    #[arg(long)]
    dry_run: bool,
    /// CPU threads of each stage [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    parallelism: Option<u32>,
    /// Take the stages' programs from there instead of building them
    #[arg(long, value_name = "DIR")]
    programs: Option<PathBuf>,
}

impl Pipeline {
    /// Runs the pipeline.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let (preset_name, preset) = preset::load(&self.preset)?;
        let environment = self.env.clone().or_else(|| preset.environment.clone());
        let environment = environment.unwrap_or_else(|| "CarRacing-v3".to_owned());
        let seed = self.seed.or(preset.seed).unwrap_or(0);
        let out = self.out.clone().unwrap_or_else(|| {
            let name = format!("{}-{preset_name}", environment.replace(['/', ':', ',', '='], "-"));
            shortened(&workspace::root().join("runs").join(name))
        });
        let resolved = preset.resolve(&environment, seed);
        let lines = Stage::ALL
            .into_iter()
            .map(|stage| CommandLine::of(stage, &resolved))
            .collect::<anyhow::Result<Vec<_>>>()?;
        if self.programs.is_none() {
            // Told before anything is built. Programs of one's own may know other environments.
            check_environment(&environment)?;
        }
        let programs = match &self.programs {
            Some(directory) => Programs::built(directory),
            None if self.dry_run => Programs::planned(&self.device)?,
            None => Programs::build(&self.device)?,
        };
        let mut runner = Runner {
            out: out.clone(),
            lines,
            programs,
            devices: self.device.clone(),
            parallelism: self.parallelism,
            from: self.from,
            again: self.command(),
            interrupt: Interrupt::new(),
        };
        if self.dry_run {
            runner.show_plan()?;
            return Ok(ExitCode::SUCCESS);
        }
        runner.check_flags()?;
        let started = Instant::now();
        let _lock = RunLock::try_take(&out.join("stages/lock"))
            .with_context(|| format!("cannot write {}", out.display()))?
            .with_context(|| format!("another pipeline is at work in {}", out.display()))?;
        write_atomically(&out.join("preset.toml"), resolved.to_toml()?.as_bytes())?;
        // From here on a signal means: let the stage save its work, then stop.
        runner.interrupt = Interrupt::on_signals()?;
        let stages = match runner.run()? {
            Ended::Complete(stages) => stages,
            Ended::Interrupted(stage) => {
                println!(
                    "\nstopped in {}; its work is saved. To go on:\n  {}",
                    stage.name(),
                    runner.again
                );
                return Ok(ExitCode::from(INTERRUPTED));
            }
        };
        let scores = |stage: Stage| Scores::read(&stage.output(&out).unwrap_or_default());
        let (controller, baseline) = (scores(Stage::Evaluate)?, scores(Stage::Baseline)?);
        let summary = Summary {
            format: 1,
            made_by: format!("rl755 {}", env!("CARGO_PKG_VERSION")),
            environment,
            preset: self.preset,
            device: self.device.to_string(),
            seed,
            seconds: started.elapsed().as_secs_f64(),
            peak_memory_bytes: stages.iter().filter_map(|line| line.peak_memory_bytes).max(),
            disk_bytes: summary::disk_used(&out).unwrap_or(0),
            stages,
            standard_errors_above_baseline: controller.standard_errors_above(&baseline),
            controller,
            baseline,
            out,
        };
        summary.write()?;
        println!("\n{}", summary.markdown());
        println!("This summary is in {}", summary.out.join("summary.md").display());
        Ok(ExitCode::SUCCESS)
    }

    /// The command that goes on with what this one began.
    fn command(&self) -> String {
        let mut words = vec!["cargo xtask pipeline".to_owned()];
        let mut add = |flag: &str, value: Option<String>| {
            words.extend(value.map(|value| format!("--{flag} {}", quoted(&value))));
        };
        let path = |path: &Option<PathBuf>| path.as_ref().map(|p| p.display().to_string());
        add("env", self.env.clone());
        add("preset", (self.preset != "quick").then(|| self.preset.clone()));
        add("device", self.device.feature().map(|_| self.device.to_string()));
        add("out", path(&self.out));
        add("seed", self.seed.map(|seed| seed.to_string()));
        add("parallelism", self.parallelism.map(|n| n.to_string()));
        add("programs", path(&self.programs));
        words.join(" ")
    }
}

/// Refuses an environment that the programs will not know; MuJoCo's, where its library is not there.
fn check_environment(id: &str) -> anyhow::Result<()> {
    let name = id.split(':').next().unwrap_or(id);
    if mujoco::is_there() && rl755_env_mujoco::IDS.contains(&name) {
        // Xtask is built without it; the programs check the options.
        return Ok(());
    }
    let mut known = EnvRegistry::with_builtin();
    rl755_env_mujoco::register(&mut known);
    known.make(id)?;
    Ok(())
}
