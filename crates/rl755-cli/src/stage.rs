//! What every stage's command line has in common, and how it is run.

use std::{
    ffi::OsString,
    io::{self, Write},
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use anyhow::Context;
use clap::{CommandFactory, FromArgMatches};
use rl755_plotter::{WORKER_ARGUMENT, worker_main};
use rl755_run::{Interrupt, Outcome, Progress, RunDir, Silent, duration, metric};

use crate::{Plugins, actors::Actors, progress_bar::Bar};

/// What a training says when it was interrupted.
pub(crate) const WITH_RESUME: &str =
    "what was finished is saved, and the same command with --resume does the rest";

/// What a stage says that keeps nothing when it was interrupted.
pub(crate) const FROM_THE_BEGINNING: &str = "the same command does all of it again";

/// A stage of the recipe as a command line.
pub trait Stage: clap::Args {
    /// The name of its binary: `rl755-collect`.
    const NAME: &'static str;
    /// What its progress bar counts.
    const UNIT: &'static str;
    /// What it says when it was interrupted: what is left, and how to go on.
    const INTERRUPTED: &'static str =
        "what was finished is saved, and the same command does the rest";

    /// Does the work.
    ///
    /// # Errors
    /// Whatever keeps it from being done.
    fn run(self, plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome>;
}

/// What a running stage has beside its flags.
#[derive(Clone)]
pub struct Desk {
    /// Where it reports.
    pub progress: Arc<dyn Progress>,
    /// Whether it shall stop.
    pub interrupt: Interrupt,
    /// Whether only results and errors are told.
    pub quiet: bool,
}

impl Desk {
    /// Prints a result, on stdout so that it can be piped.
    pub(crate) fn print(&self, text: &str) -> anyhow::Result<()> {
        self.progress.end();
        match writeln!(io::stdout(), "{text}") {
            // Whoever read it has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.context("cannot write to stdout"),
        }
    }

    /// A line for people, however quiet the rest.
    pub(crate) fn say(&self, text: &str) {
        match self.quiet {
            true => tell(text),
            false => self.progress.line(text),
        }
    }

    /// Says what came of the training in `model_dir`, when it is complete.
    pub(crate) fn print_trained<S: Stage>(
        &self,
        model_dir: &Path,
        outcome: Outcome,
    ) -> anyhow::Result<Outcome> {
        if outcome == Outcome::Complete {
            let manifest = RunDir::read(model_dir, S::NAME.trim_start_matches("rl755-"))?;
            let number = |(name, value): (&String, &serde_json::Value)| match value.as_u64() {
                Some(whole) => Some(format!("{name} {whole}")),
                None => value.as_f64().map(|value| format!("{name} {}", metric(value))),
            };
            let numbers: Vec<String> = manifest.results.iter().filter_map(number).collect();
            self.print(&format!(
                "{} is trained, in {}: {}; it is in {}",
                manifest.name,
                duration(manifest.seconds),
                numbers.join(", "),
                model_dir.display()
            ))?;
        }
        Ok(outcome)
    }
}

// Flags of every stage. (A doc comment on a flattened group would replace the stage's own in help.)
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CommonFlags {
    /// CPU threads; 0 uses all cores. The results do not depend on it
    #[arg(long, global = true, default_value_t = 0, value_name = "N",
          value_parser = clap::value_parser!(u16).range(..=1024))]
    threads: u16,
    /// No progress, only results and errors
    #[arg(long, global = true)]
    quiet: bool,
}

// The command line of a binary with one stage. No doc comment, which would hide the stage's own.
#[derive(clap::Parser)]
#[command(version)]
struct Single<S: Stage> {
    #[command(flatten)]
    stage: S,
    #[command(flatten)]
    common: CommonFlags,
}

/// Runs the binary `rl755-NAME` of a stage with what rl755 itself brings.
pub fn stage<S: Stage>() -> ExitCode {
    stage_with_defaults::<S>(&[])
}

/// As [`stage`], with other defaults of some flags, `("batch-size", "5000")`: the settings of a
/// problem as a program of its own.
///
/// # Panics
/// When the stage has no such flag.
pub fn stage_with_defaults<S: Stage>(defaults: &[(&'static str, &'static str)]) -> ExitCode {
    if is_plot_worker() {
        return plot_worker(&Plugins::with_builtin());
    }
    let command = Single::<S>::command().name(S::NAME).allow_negative_numbers(true);
    let command = defaults.iter().fold(command, |command, (flag, value)| {
        command.mut_arg(flag.replace('-', "_"), |arg| arg.default_value(*value).required(false))
    });
    let mut matches = command.get_matches_from(arguments());
    match Single::<S>::from_arg_matches_mut(&mut matches) {
        Ok(Single { stage, common }) => run_stage(stage, &common, &Plugins::with_builtin()),
        Err(error) => error.exit(),
    }
}

/// Whether this process is the worker of the plotter of another one, which is the same program.
pub(crate) fn is_plot_worker() -> bool {
    std::env::args_os().nth(1).is_some_and(|first| first == WORKER_ARGUMENT)
}

/// The worker: plays what `plugins` know. With one more argument it is the worker's window.
pub(crate) fn plot_worker(plugins: &Plugins) -> ExitCode {
    #[cfg(feature = "window")]
    if let Some(environment) = std::env::args().nth(2) {
        return crate::actors::window::main(&environment);
    }
    worker_main(&plugins.environments, &Actors::new(plugins))
}

/// Runs a stage and turns its end into an exit code: 0 done, 1 failed, 130 interrupted.
pub(crate) fn run_stage<S: Stage>(stage: S, common: &CommonFlags, plugins: &Plugins) -> ExitCode {
    match prepare(common, S::UNIT).and_then(|desk| stage.run(plugins, &desk)) {
        Ok(Outcome::Complete) => ExitCode::SUCCESS,
        Ok(Outcome::Interrupted { .. }) => {
            tell(&format!("interrupted; {}", S::INTERRUPTED));
            ExitCode::from(130)
        }
        Err(error) => {
            tell(&format!("error: {}", causes(&error)));
            ExitCode::FAILURE
        }
    }
}

/// An error and its causes. A cause that an error's own text ends with is not told twice.
fn causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

fn prepare(common: &CommonFlags, unit: &str) -> anyhow::Result<Desk> {
    rayon::ThreadPoolBuilder::new()
        .num_threads(common.threads.into())
        .build_global()
        .context("cannot start the threads")?;
    let progress: Arc<dyn Progress> =
        if common.quiet { Arc::new(Silent) } else { Arc::new(Bar::new(unit)) };
    let interrupt = Interrupt::on_signals().context("cannot watch for Ctrl-C")?;
    Ok(Desk { progress, interrupt, quiet: common.quiet })
}

/// A line for the person at the keyboard.
pub(crate) fn tell(text: &str) {
    // Nobody is left to tell when stderr is closed.
    let _ = writeln!(io::stderr(), "{text}");
}

/// The arguments of the command line. Paths end up in JSON files, which hold UTF-8 only.
pub(crate) fn arguments() -> Vec<String> {
    let text = |argument: OsString| {
        argument.into_string().unwrap_or_else(|argument| {
            tell(&format!("error: the argument {argument:?} is not UTF-8"));
            std::process::exit(2);
        })
    };
    std::env::args_os().map(text).collect()
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let io = std::io::Error::other("disk full");
        let error = Err::<(), _>(io).context("a.txt: disk full").context("encoding").unwrap_err();
        assert_eq!(causes(&error), "encoding: a.txt: disk full");
    }
}
