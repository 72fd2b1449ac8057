//! Chromium without a display, looking at a page.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
};

use anyhow::Context;

use crate::{child, workspace};

/// What keeps it from doing anything else than showing the page. It draws on the processor.
const FLAGS: [&str; 8] = [
    "--headless",
    "--no-sandbox",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",
    // Without it, the program ends when it has loaded the page.
    "--remote-debugging-port=0",
];

/// Linux' class for what runs only where nothing else wants to. Niceness would not do: Chromium sets that
/// of its threads itself, where it may.
const GIVES_WAY: [&str; 3] = ["chrt", "--idle", "0"];

/// A browser; it ends when this is dropped.
pub(super) struct Browser(Child);

/// Fails where there is no such program.
pub(super) fn check(program: &str) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    let shown = workspace::display(&command);
    command.status().with_context(|| {
        format!("cannot start `{shown}`: install Chromium, or name a browser with --browser")
    })?;
    Ok(())
}

impl Browser {
    /// Opens the page at `url` with a profile of its own in `directory`.
    pub(super) fn open(
        program: &str,
        gives_way: bool,
        url: &str,
        directory: &Path,
    ) -> anyhow::Result<Self> {
        let mut command = if gives_way {
            let mut command = Command::new(GIVES_WAY[0]);
            command.args(&GIVES_WAY[1..]).arg(program);
            command
        } else {
            Command::new(program)
        };
        command.args(FLAGS).arg("--window-size=800,600").arg(url);
        command.arg(format!("--user-data-dir={}", directory.join("profile").display()));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let shown = workspace::display(&command);
        Ok(Self(command.spawn().with_context(|| format!("cannot start `{shown}`"))?))
    }

    /// Its process.
    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked, it ends its own processes as well.
        child::ask_to_stop(&self.0);
        let _ = self.0.wait();
    }
}
