//! What every stage's command line has in common, and how it is run.

use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory, FromArgMatches};
use rl755_run::{Interrupt, Outcome, Progress, Silent};

use crate::{Plugins, progress_bar::Bar};

/// A stage of the recipe as a command line.
pub trait Stage: clap::Args {
    /// The name of its binary: `rl755-collect`.
    const NAME: &'static str;
    /// What its progress bar counts.
    const UNIT: &'static str;

    /// Does the work.
    ///
    /// # Errors
    /// Whatever keeps it from being done.
    fn run(self, plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome>;
}

/// What a running stage has beside its flags.
pub struct Desk {
    /// Where it reports.
    pub progress: Box<dyn Progress>,
    /// Whether it shall stop.
    pub interrupt: Interrupt,
}

// Flags of every stage. (A doc comment on a flattened group would replace the stage's own in help.)
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct CommonFlags {
    /// CPU threads; 0 uses all cores. The results do not depend on it
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    threads: usize,
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
    let command = Single::<S>::command().name(S::NAME).allow_negative_numbers(true);
    let mut matches = command.get_matches();
    match Single::<S>::from_arg_matches_mut(&mut matches) {
        Ok(Single { stage, common }) => run_stage(stage, &common, &Plugins::with_builtin()),
        Err(error) => error.exit(),
    }
}

/// Runs a stage and turns its end into an exit code: 0 done, 1 failed, 130 interrupted.
pub(crate) fn run_stage<S: Stage>(stage: S, common: &CommonFlags, plugins: &Plugins) -> ExitCode {
    match prepare(common, S::UNIT).and_then(|desk| stage.run(plugins, &desk)) {
        Ok(Outcome::Complete) => ExitCode::SUCCESS,
        Ok(Outcome::Interrupted { .. }) => {
            tell("interrupted; what was finished is saved, and the same command does the rest");
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
        .num_threads(common.threads)
        .build_global()
        .context("cannot start the threads")?;
    let progress: Box<dyn Progress> =
        if common.quiet { Box::new(Silent) } else { Box::new(Bar::new(unit)) };
    let interrupt = Interrupt::on_signals().context("cannot watch for Ctrl-C")?;
    Ok(Desk { progress, interrupt })
}

/// A line for the person at the keyboard.
#[allow(clippy::print_stderr)]
fn tell(text: &str) {
    eprintln!("{text}");
}

/// A result, on stdout so that it can be piped.
#[allow(clippy::print_stdout)]
pub(crate) fn print(text: &str) {
    println!("{text}");
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
