//! A program with all stages as subcommands, for crates that add their own types.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::{
    Plugins,
    stage::{CommonFlags, arguments, is_plot_worker, plot_worker, run_stage},
    stages::{
        Collect, Encode, Evaluate, Pack, Plot, TrainController, TrainEncoder, TrainPolicy,
        TrainSequence, Verify,
    },
};

/// The World Models recipe, stage by stage.
#[derive(clap::Parser)]
#[command(version)]
struct Program {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: CommonFlags,
}

#[derive(clap::Subcommand)]
enum Command {
    Collect(Collect),
    Pack(Pack),
    Verify(Verify),
    TrainEncoder(TrainEncoder),
    Encode(Encode),
    TrainSequence(TrainSequence),
    TrainController(TrainController),
    TrainPolicy(TrainPolicy),
    Evaluate(Evaluate),
    Plot(Plot),
}

/// Runs the stage that the command line names, with what rl755 brings and what `add` adds.
pub fn run(add: impl FnOnce(&mut Plugins)) -> ExitCode {
    let mut plugins = Plugins::with_builtin();
    add(&mut plugins);
    if is_plot_worker() {
        return plot_worker(&plugins);
    }
    let command = Program::command().mut_subcommands(|stage| stage.allow_negative_numbers(true));
    let Program { command, common } =
        match Program::from_arg_matches(&command.get_matches_from(arguments())) {
            Ok(program) => program,
            Err(error) => error.exit(),
        };
    match command {
        Command::Collect(stage) => run_stage(stage, &common, &plugins),
        Command::Pack(stage) => run_stage(stage, &common, &plugins),
        Command::Verify(stage) => run_stage(stage, &common, &plugins),
        Command::TrainEncoder(stage) => run_stage(stage, &common, &plugins),
        Command::Encode(stage) => run_stage(stage, &common, &plugins),
        Command::TrainSequence(stage) => run_stage(stage, &common, &plugins),
        Command::TrainController(stage) => run_stage(stage, &common, &plugins),
        Command::TrainPolicy(stage) => run_stage(stage, &common, &plugins),
        Command::Evaluate(stage) => run_stage(stage, &common, &plugins),
        Command::Plot(stage) => run_stage(stage, &common, &plugins),
    }
}
