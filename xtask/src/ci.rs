//! `cargo xtask ci`: everything that must hold before a change is taken.

use std::{
    process::{Command, ExitCode},
    time::Instant,
};

use anyhow::bail;

use crate::{file_size, test::Test, workspace};

/// Check formatting, file sizes, lints, the `cuda` and `mujoco` features and documentation, and run
/// all tests
#[derive(clap::Args)]
pub(crate) struct Ci {
    /// All but the tests
    #[arg(long)]
    no_tests: bool,
}

impl Ci {
    /// Runs the checks, the quick ones first.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        step("formatting", || workspace::run(&mut workspace::cargo(&["fmt", "--all", "--check"])))?;
        step("file sizes and READMEs", sizes_and_readmes)?;
        step("lints, with the features `cuda` and `mujoco`", || {
            // Not part of all targets: tests that only run when they are named.
            workspace::run(&mut clippy(&["--all-targets"]))?;
            workspace::run(&mut clippy(&["--test", "browser"]))
        })?;
        step("lints of MuJoCo's window", || workspace::run(&mut window_clippy()))?;
        step("documentation", || workspace::run(&mut documentation()))?;
        if self.no_tests {
            return Ok(ExitCode::SUCCESS);
        }
        println!("\n== tests");
        Test::default().run()
    }
}

fn step(name: &str, check: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    println!("\n== {name}");
    let started = Instant::now();
    check()?;
    println!("{name}: good, after {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn sizes_and_readmes() -> anyhow::Result<()> {
    let root = workspace::root();
    let mut faults = Vec::new();
    for (path, lines) in file_size::too_long(&root)? {
        faults.push(format!(
            "{} has {lines} lines; more than {} are too many",
            path.display(),
            file_size::MOST_LINES
        ));
    }
    for path in file_size::without_readme(&root.join("crates"))? {
        faults.push(format!("{} has no README.md", path.display()));
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    Ok(())
}

/// Lints everything with the features that need something of their own, which are type-checked on the
/// way; what is built without them the tests build.
fn clippy(targets: &[&str]) -> Command {
    let mut command = checking(&["clippy", "--release", "--workspace"]);
    command.args(targets).args(["--features", FEATURES, "--", "-D", "warnings"]);
    command
}

/// Documentation with the same features, so that no dependency is checked again: with
/// `--examples`, of which there need be none, those that the tests turn on as well.
fn documentation() -> Command {
    let mut command = checking(&["doc", "--release", "--workspace", "--no-deps"]);
    command.args(["--lib", "--bins", "--examples"]);
    command.args(["--features", FEATURES]).env("RUSTDOCFLAGS", "-D warnings");
    command
}

/// What is checked beside the defaults. None of their libraries need be there.
const FEATURES: &str = "rl755-cli/cuda,rl755-cli/mujoco";

/// Lints MuJoCo's window on its own: its dependencies would give burn's other features.
fn window_clippy() -> Command {
    let mut command = checking(&["clippy", "--release", "--package", "rl755-env-mujoco"]);
    command.args(["--all-targets", "--features", "window", "--", "-D", "warnings"]);
    command
}

fn checking(arguments: &[&str]) -> Command {
    let mut command = workspace::cargo(arguments);
    // The build script of a dependency of burn's `cuda` would download LLVM. It does without where
    // documentation is built, and nothing but linking needs it.
    command.env("DOCS_RS", "1");
    command
}
