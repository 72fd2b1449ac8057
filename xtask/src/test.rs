//! `cargo xtask test`: all tests of the workspace.

use std::{
    io::{BufRead, BufReader, IsTerminal, Write},
    process::{ExitCode, Stdio},
};

use anyhow::Context;

use crate::{mujoco, workspace};

/// Run all tests of the workspace, with the examples in the documentation
#[derive(Default, clap::Args)]
pub(crate) struct Test {
    /// Only tests whose name contains this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
}

/// What the test programs said about themselves, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Total {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Test {
    /// Runs the tests.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        // Some tests start the stages' programs. `--tests` gives them the dependencies that the
        // tests have: burn is compiled once.
        let build = ["build", "--release", "--workspace", "--bins", "--tests"];
        workspace::run(mujoco::add_feature(&mut workspace::cargo(&build)))?;
        let mut command = workspace::cargo(&["test", "--release", "--workspace", "--no-fail-fast"]);
        mujoco::add_feature(&mut command);
        let mut test_flags = Vec::new();
        if std::io::stdout().is_terminal() {
            command.args(["--color", "always"]);
            test_flags.push("--color=always");
        }
        test_flags.extend(self.filter.as_deref());
        if !test_flags.is_empty() {
            command.arg("--").args(test_flags);
        }
        println!("$ {}", workspace::display(&command));
        let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
        let mut total = Total::default();
        let mut out = std::io::stdout().lock();
        for line in child.stdout.take().into_iter().flat_map(|pipe| BufReader::new(pipe).lines()) {
            let line = line?;
            total.add(&line);
            writeln!(out, "{line}")?;
        }
        let status = child.wait()?;
        let Total { passed, failed, ignored } = total;
        if !mujoco::is_there() {
            writeln!(
                out,
                "\nMuJoCo's tests were left out: run `cargo xtask setup --mujoco` first"
            )?;
        }
        writeln!(out, "\n{passed} tests passed, {failed} failed, {ignored} were ignored")?;
        Ok(match status.code() {
            Some(0) => ExitCode::SUCCESS,
            Some(code) => ExitCode::from(u8::try_from(code).unwrap_or(1)),
            None => ExitCode::FAILURE,
        })
    }
}

impl Total {
    /// Adds what a line `test result: ok. 12 passed; 0 failed; 1 ignored; …` says.
    fn add(&mut self, line: &str) {
        if !line.starts_with("test result: ") {
            return;
        }
        let count = |what: &str| {
            let part = line.split(';').find_map(|part| part.trim_end().strip_suffix(what));
            let number = part.and_then(|part| part.split_whitespace().next_back());
            number.and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        self.passed += count(" passed");
        self.failed += count(" failed");
        self.ignored += count(" ignored");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_added_up() {
        let mut total = Total::default();
        for line in [
            "running 13 tests",
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; \
             finished in 0.01s",
            "test result: \u{1b}[31mFAILED\u{1b}[m. 3 passed; 2 failed; 0 ignored; 0 measured; 4 \
             filtered out; finished in 0.01s",
            "100 passed; this is what a test printed",
        ] {
            total.add(line);
        }
        assert_eq!(total, Total { passed: 15, failed: 2, ignored: 1 });
    }
}
