//! A program that steps an environment for as long as it is told to, and says how far it came.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::{Context, bail};
use serde::{Deserialize, de::DeserializeOwned};

use super::{
    machine::CpuTime,
    rates::{Round, Rounds},
};
use crate::workspace;

/// A running program, at rest between rounds. It ends when this is dropped, as its input ends.
#[derive(Debug)]
pub(crate) struct Contestant {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    shown: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ready {
    ready: bool,
}

impl Contestant {
    /// Starts `command`, and waits until it is ready; none when it does not have the environment.
    pub(crate) fn start(mut command: Command) -> anyhow::Result<Option<Self>> {
        let shown = workspace::display(&command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start `{shown}`"))?;
        let output = child.stdout.take().context("its output is a pipe")?;
        let input = child.stdin.take();
        let mut contestant = Self { child, input, output: BufReader::new(output).lines(), shown };
        let Ready { ready } = contestant.answer()?;
        Ok(ready.then_some(contestant))
    }

    /// Lets it step for about `seconds`.
    pub(crate) fn round(&mut self, seconds: f64) -> anyhow::Result<Round> {
        let begin = CpuTime::now(self.child.id());
        if let Some(input) = &mut self.input {
            writeln!(input, "{seconds}").with_context(|| format!("`{}` ended", self.shown))?;
        }
        let mut round: Round = self.answer()?;
        if let (Some(begin), Some(end)) = (begin, CpuTime::now(self.child.id())) {
            round.usage = Some(begin.usage_until(end, round.seconds));
        }
        Ok(round)
    }

    fn answer<T: DeserializeOwned>(&mut self) -> anyhow::Result<T> {
        let Some(line) = self.output.next() else { bail!("`{}` ended early", self.shown) };
        let line = line?;
        serde_json::from_str(&line).with_context(|| format!("`{}` said `{line}`", self.shown))
    }
}

impl Drop for Contestant {
    fn drop(&mut self) {
        self.input = None;
        // It would otherwise still be ending while the next is measured.
        let _ = self.child.wait();
    }
}

/// Starts all of `commands` and runs `rounds` of `seconds`, one program after another in each, after
/// `warm_up` seconds of each.
pub(crate) fn race(
    commands: Vec<Command>,
    warm_up: f64,
    rounds: u32,
    seconds: f64,
) -> anyhow::Result<Vec<Rounds>> {
    let mut running = Vec::new();
    for command in commands {
        let shown = workspace::display(&command);
        let contestant = Contestant::start(command)?;
        let contestant = contestant.with_context(|| format!("`{shown}` is not ready"))?;
        running.push((contestant, Rounds::default()));
    }
    for (contestant, _) in &mut running {
        contestant.round(warm_up)?;
    }
    for _ in 0..rounds {
        for (contestant, done) in &mut running {
            done.0.push(contestant.round(seconds)?);
        }
    }
    Ok(running.into_iter().map(|(_, rounds)| rounds).collect())
}

/// `program`, held to `cores` where that is possible.
pub(crate) fn held_to(cores: Option<&[usize]>, program: impl AsRef<OsStr>) -> Command {
    let Some(cores) = cores else { return Command::new(program) };
    let list: Vec<String> = cores.iter().map(usize::to_string).collect();
    let mut command = Command::new("taskset");
    command.args(["-c", &list.join(",")]).arg(program);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_answers_each_round() {
        let script = r#"echo '{"ready": true}'
            while read -r seconds; do
                echo "{\"steps\": 12, \"seconds\": $seconds, \"resets\": 1}"
            done"#;
        let mut contestant = Contestant::start(shell(script)).unwrap().unwrap();
        for seconds in [0.5, 2.0] {
            let round = contestant.round(seconds).unwrap();
            assert_eq!((round.steps, round.seconds, round.resets), (12, seconds, 1));
        }
    }

    #[test]
    fn a_program_without_the_environment_is_left_out() {
        assert!(Contestant::start(shell(r#"echo '{"ready": false}'"#)).unwrap().is_none());
    }

    #[test]
    fn a_program_that_ends_or_says_something_else_is_an_error() {
        let error = |script: &str| format!("{:#}", Contestant::start(shell(script)).unwrap_err());
        assert!(error("exit 3").contains("ended early"));
        assert!(error("echo Hello").contains("said `Hello`"));
        let mut contestant =
            Contestant::start(shell(r#"echo '{"ready": true}'; read -r line"#)).unwrap().unwrap();
        assert!(format!("{:#}", contestant.round(1.0).unwrap_err()).contains("ended early"));
    }

    #[test]
    fn programs_race_in_rounds() {
        let script = |steps: u32| {
            shell(&format!(
                r#"echo '{{"ready": true}}'
                while read -r seconds; do
                    echo "{{\"steps\": {steps}, \"seconds\": $seconds, \"resets\": 0}}"
                done"#
            ))
        };
        let raced = race(vec![script(3), script(5)], 7.0, 2, 0.5).unwrap();
        let steps = raced.iter().map(|rounds| {
            let each = rounds.0.iter().map(|round| (round.steps, round.seconds));
            each.collect::<Vec<_>>()
        });
        assert_eq!(steps.collect::<Vec<_>>(), [[(3, 0.5); 2], [(5, 0.5); 2]]);
    }

    #[test]
    fn programs_are_held_to_cores() {
        let shown = workspace::display(held_to(Some(&[0, 3]), "program").arg("x"));
        assert_eq!(shown, "taskset -c 0,3 program x");
        assert_eq!(workspace::display(&held_to(None, "program")), "program");
    }
}
