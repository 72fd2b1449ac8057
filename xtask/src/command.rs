//! The subcommands, and how their ends become exit codes.

use std::process::ExitCode;

use clap::Parser;

use crate::{
    bench, ci, golden, interop, parity, pipeline, setup, test, test_browser, test_tch, vendor_three,
};

/// Exit code of work that was stopped by Ctrl-C or SIGTERM and can be gone on with.
pub(crate) const INTERRUPTED: u8 = 130;

/// rl755's chores, and its whole recipe from one command.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Pipeline(pipeline::Pipeline),
    Build(pipeline::Build),
    Test(test::Test),
    TestTch(test_tch::TestTch),
    TestBrowser(test_browser::TestBrowser),
    Ci(ci::Ci),
    Setup(setup::Setup),
    Golden(golden::Golden),
    Interop(interop::Interop),
    Parity(parity::Parity),
    Bench(bench::Bench),
    VendorThree(vendor_three::VendorThree),
}

/// Runs the subcommand of the command line.
pub(crate) fn run() -> ExitCode {
    let ended = match Arguments::parse().command {
        Command::Pipeline(command) => command.run(),
        Command::Build(command) => command.run(),
        Command::Test(command) => command.run(),
        Command::TestTch(command) => command.run(),
        Command::TestBrowser(command) => command.run(),
        Command::Ci(command) => command.run(),
        Command::Setup(command) => command.run(),
        Command::Golden(command) => command.run(),
        Command::Interop(command) => command.run(),
        Command::Parity(command) => command.run(),
        Command::Bench(command) => command.run(),
        Command::VendorThree(command) => command.run(),
    };
    ended.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::Arguments::command().debug_assert();
    }
}
