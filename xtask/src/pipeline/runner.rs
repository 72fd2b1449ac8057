//! Takes the stages in turn: decides about each, runs it, and records what it did.

use std::{path::PathBuf, process::Command};

use anyhow::{Context, bail};
use rl755_run::{Interrupt, duration};

use super::{
    command_line::CommandLine,
    decision::{Decision, decide, move_aside, output_of},
    devices::Devices,
    fan_out::{self, Split},
    programs::Programs,
    record::{Record, Work},
    stage::{GoesOn, Stage},
    summary::{Line, Outcome, bytes},
};
use crate::{child, workspace};

/// How a run of the pipeline ended, when nothing failed.
pub(crate) enum Ended {
    /// Every stage is done.
    Complete(Vec<Line>),
    /// It was asked to stop in this stage.
    Interrupted(Stage),
}

/// One run of the pipeline.
pub(crate) struct Runner {
    /// The pipeline's directory.
    pub(crate) out: PathBuf,
    /// Every stage's command line, in order.
    pub(crate) lines: Vec<CommandLine>,
    pub(crate) programs: Programs,
    pub(crate) devices: Devices,
    /// CPU threads of each stage; `None` leaves it to the stage.
    pub(crate) parallelism: Option<u32>,
    /// The stage from which on everything is done again.
    pub(crate) from: Option<Stage>,
    /// The command that goes on with this run.
    pub(crate) again: String,
    pub(crate) interrupt: Interrupt,
}

/// How a stage's processes ended, when none failed.
struct StageEnd {
    complete: bool,
    seconds: f64,
    peak_memory: Option<u64>,
}

impl Runner {
    /// Asks every stage whether it understands its flags.
    pub(crate) fn check_flags(&self) -> anyhow::Result<()> {
        self.lines.iter().try_for_each(|line| self.programs.check(line, &self.out))
    }

    /// Prints what would be done with each stage, and the commands.
    pub(crate) fn show_plan(&self) -> anyhow::Result<()> {
        let mut worked = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            let (_, decision) = self.decide(line, &worked)?;
            println!("{}", heading(number, line.stage, &decision));
            if decision == Decision::Skip {
                continue;
            }
            worked.push(line.stage);
            let resume = decision == Decision::Resume;
            let (split, line) = self.split(line)?;
            for part in 0..split.outer {
                let slot = part % self.devices.count();
                let command = self.command(&line, resume, split, part, slot);
                println!("  {}", workspace::display(&command));
            }
        }
        Ok(())
    }

    /// Runs what is not done.
    pub(crate) fn run(&self) -> anyhow::Result<Ended> {
        let mut worked = Vec::new();
        let mut lines = Vec::new();
        for (number, line) in self.lines.iter().enumerate() {
            let stage = line.stage;
            if self.interrupt.is_raised() {
                return Ok(Ended::Interrupted(stage));
            }
            let (work, decision) = self.decide(line, &worked)?;
            println!("\n{}", heading(number, stage, &decision));
            let known = Record::read(stage, &self.out).filter(|record| record.work == work);
            let mut record = match (&decision, known) {
                (Decision::Skip | Decision::Resume, Some(record)) => record,
                _ => Record { work, finished: false, seconds: 0.0, peak_memory_bytes: None },
            };
            if let Decision::Redo(_) = decision
                && let Some(directory) = stage.output(&self.out)
            {
                let aside = move_aside(&directory)
                    .with_context(|| format!("cannot rename {}", directory.display()))?;
                println!("the old output is now {}", aside.display());
            }
            let outcome = match decision {
                Decision::Skip => Outcome::Skipped,
                Decision::Resume => Outcome::Resumed,
                Decision::Run | Decision::Redo(_) => Outcome::Done,
            };
            if outcome != Outcome::Skipped {
                worked.push(stage);
                record.finished = false;
                record.write(stage, &self.out)?;
                let end = self.execute(line, outcome == Outcome::Resumed)?;
                record.seconds += end.seconds;
                record.peak_memory_bytes = record.peak_memory_bytes.max(end.peak_memory);
                if !end.complete {
                    record.write(stage, &self.out)?;
                    return Ok(Ended::Interrupted(stage));
                }
                let peak = end.peak_memory.map(|peak| format!(", peak memory {}", bytes(peak)));
                println!(
                    "{} done in {}{}",
                    stage.name(),
                    duration(end.seconds),
                    peak.unwrap_or_default()
                );
            }
            if !record.finished {
                record.finished = true;
                record.write(stage, &self.out)?;
            }
            let (seconds, peak) = (record.seconds, record.peak_memory_bytes);
            lines.push(Line::new(stage, outcome, seconds, peak, &self.out));
        }
        Ok(Ended::Complete(lines))
    }

    /// What to do about a stage, when the stages `worked` have been at work in this run.
    fn decide(&self, line: &CommandLine, worked: &[Stage]) -> anyhow::Result<(Work, Decision)> {
        let stage = line.stage;
        let work = Work::now(stage, line.record(), &self.out)?;
        let record = Record::read(stage, &self.out);
        let num_rollouts = line.number("num-rollouts").unwrap_or(1);
        let output = output_of(stage, &self.out, num_rollouts)
            .with_context(|| format!("cannot look into {}", self.out.display()))?;
        let forced = if self.from.is_some_and(|from| from <= stage) {
            Some("--from asks for it".to_owned())
        } else {
            let read = stage.reads().iter().find(|read| worked.contains(read));
            read.map(|read| format!("{} has been at work", read.name()))
        };
        let decision = decide(record.as_ref(), &work, output, forced.as_deref());
        Ok((work, decision))
    }

    /// Runs a stage's process, or the processes that share it.
    fn execute(&self, line: &CommandLine, resume: bool) -> anyhow::Result<StageEnd> {
        let stage = line.stage;
        let (split, line) = self.split(line)?;
        if split.outer > 1 {
            let logs = self.out.join("logs").join(stage.name());
            let command = |part, slot| self.command(&line, resume, split, part, slot);
            let devices = self.devices.count();
            let shared = fan_out::run(split.outer, devices, &logs, &command, &self.interrupt)
                .with_context(|| {
                    format!("{} failed. To go on with it:\n  {}\nbecause", stage.name(), self.again)
                })?;
            let fan_out::Shared { complete, seconds, peak_memory } = shared;
            return Ok(StageEnd { complete, seconds, peak_memory });
        }
        let mut command = self.command(&line, resume, split, 0, 0);
        let shown = workspace::display(&command);
        println!("$ {shown}");
        let ended = child::run(&mut command, &self.interrupt)
            .with_context(|| format!("cannot start {shown}"))?;
        let child::Ended { status, seconds, peak_memory } = ended;
        let interrupted = child::was_interrupted(status);
        if !status.success() && !interrupted {
            bail!(
                "{} {}\n  its command: {shown}\n  to go on with the pipeline: {}",
                stage.name(),
                child::describe(status),
                self.again
            );
        }
        Ok(StageEnd { complete: !interrupted, seconds, peak_memory })
    }

    /// How a stage's work is split among processes, and its command line without that.
    fn split(&self, line: &CommandLine) -> anyhow::Result<(Split, CommandLine)> {
        let mut line = line.clone();
        if line.stage != Stage::Encode {
            return Ok((Split { outer: 1, sub: 1 }, line));
        }
        let outer = line.take_number("num-outer-shards", 1)?;
        let sub = line.take_number("num-sub-shards", 1)?;
        Ok((Split { outer, sub }.over(self.devices.count()), line))
    }

    /// The command of part `part` of a stage on device number `slot`.
    fn command(
        &self,
        line: &CommandLine,
        resume: bool,
        split: Split,
        part: usize,
        slot: usize,
    ) -> Command {
        let stage = line.stage;
        let mut arguments = line.arguments(&self.out);
        let mut add = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
        if stage == Stage::Encode {
            add("--num-sub-shards", split.sub.to_string());
            if split.outer > 1 {
                add("--num-outer-shards", split.outer.to_string());
                add("--outer-shard-index", part.to_string());
            }
        }
        match stage {
            Stage::Collect | Stage::Pack | Stage::Verify => {
                self.parallelism.iter().for_each(|n| add("--parallelism", n.to_string()));
            }
            Stage::Baseline => {
                self.parallelism.iter().for_each(|n| add("--threads", n.to_string()));
            }
            _ => {
                add("--device", self.devices.name(slot));
                self.parallelism.iter().for_each(|n| add("--threads", n.to_string()));
            }
        }
        if stage == Stage::Collect {
            // Asked again after a kill, it must not add as many rollouts once more.
            arguments.push("--once".to_owned());
        }
        if split.outer > 1 {
            // Several progress bars at once would draw over each other.
            arguments.push("--quiet".to_owned());
        }
        if resume && stage.goes_on() == GoesOn::WithResumeFlag {
            arguments.push("--resume".to_owned());
        }
        self.programs.command(stage, &arguments)
    }
}

fn heading(number: usize, stage: Stage, decision: &Decision) -> String {
    let what = match decision {
        Decision::Skip => "done and unchanged".to_owned(),
        Decision::Run => "to be done".to_owned(),
        Decision::Resume => "resuming".to_owned(),
        Decision::Redo(reason) => format!("to be done again: {reason}"),
    };
    format!("== [{}/{}] {}: {what}", number + 1, Stage::ALL.len(), stage.name())
}
