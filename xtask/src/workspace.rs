//! Where the workspace and its build output are, and how to call cargo and other programs on it.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
};

use anyhow::{Context, bail};

/// The directory of the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable when it runs a package's program, so a moved checkout is found too.
    let package = env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.parent().map_or(package.clone(), Path::to_owned)
}

/// Cargo's target directory: the one this program was built into.
pub(crate) fn target_dir() -> PathBuf {
    env::current_exe()
        .ok()
        .and_then(|program| Some(program.parent()?.parent()?.to_owned()))
        .filter(|target| target.join("release").is_dir())
        .unwrap_or_else(|| root().join("target"))
}

/// Cargo, to be run in the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root()).args(arguments);
    // What `cargo run` told this program about itself would be taken for the package being built.
    for (name, _) in env::vars_os() {
        let name_text = name.to_string_lossy();
        if name_text.starts_with("CARGO_PKG_") || name_text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// Builds the example `name` of `package`; the program it became.
pub(crate) fn build_example(package: &str, name: &str) -> anyhow::Result<PathBuf> {
    let mut command = cargo(&["build", "--release", "--package", package, "--example", name]);
    run(&mut command)?;
    Ok(target_dir().join("release/examples").join(name))
}

/// Builds the example `name` of a package that depends on burn; the program it became.
///
/// Of the whole workspace: a build of one package would give burn other features, and compile it
/// once more.
pub(crate) fn build_example_with_burn(name: &str) -> anyhow::Result<PathBuf> {
    let mut command = cargo(&["build", "--release", "--workspace", "--example", name]);
    run(&mut command)?;
    Ok(target_dir().join("release/examples").join(name))
}

/// Shows `command`, runs it to its end, and fails when it fails.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let shown = display(command);
    println!("$ {shown}");
    let status = status(command)?;
    if !status.success() {
        bail!("`{shown}` failed: {status}");
    }
    Ok(())
}

/// Runs `command` to its end.
pub(crate) fn status(command: &mut Command) -> anyhow::Result<ExitStatus> {
    command.status().with_context(|| {
        format!("cannot start {}: is it installed?", command.get_program().to_string_lossy())
    })
}

/// A command as one would type it into a shell.
pub(crate) fn display(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!("{}={}", name.to_string_lossy(), quoted(&value.to_string_lossy())));
        }
    }
    let program = Path::new(command.get_program());
    // The full path of cargo tells nothing.
    let program = match program.file_name() {
        Some(name) if name == "cargo" => Path::new(name),
        _ => program,
    };
    words.push(quoted(&program.to_string_lossy()));
    words.extend(command.get_args().map(|argument| quoted(&argument.to_string_lossy())));
    words.join(" ")
}

/// `word` as a shell reads it back.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_a_shell_reads_them() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["test", "{\"a\": 1}", "it's", ""]).env("DOCS_RS", "1");
        assert_eq!(display(&command), r#"DOCS_RS=1 cargo test '{"a": 1}' 'it'\''s' ''"#);
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("crates").is_dir());
    }
}
