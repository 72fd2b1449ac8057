//! `cargo xtask vendor-three`: the parts of three.js that the plotter's page needs, in one file.

use std::{
    fs,
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::Context;

use crate::workspace;

/// three.js, and what takes out of it what is needed. The README beside the bundle names it too.
const PACKAGES: [&str; 2] = ["three@0.187.0", "esbuild@0.28.2"];

/// Bundle three.js for the plotter's page anew (needs npm)
///
/// The bundle is committed: only who changes the version or what the page uses of it runs this.
#[derive(clap::Args)]
pub(crate) struct VendorThree {}

impl VendorThree {
    /// Writes the bundle and its licence.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let vendor = workspace::root().join("crates/rl755-plotter/page/vendor");
        let directory = workspace::target_dir().join("three");
        fs::create_dir_all(&directory)
            .with_context(|| format!("{} could not be made", directory.display()))?;
        let mut npm = Command::new("npm");
        npm.current_dir(&directory).args(["install", "--no-save", "--no-audit", "--no-fund"]);
        workspace::run(npm.args(PACKAGES))?;
        let copy = |from: &Path, to: &Path| {
            fs::copy(from, to).with_context(|| format!("{} cannot be copied", from.display()))
        };
        // Beside the packages, where they are looked for.
        copy(&vendor.join("three.entry.js"), &directory.join("three.entry.js"))?;
        let mut esbuild = Command::new(directory.join("node_modules/.bin/esbuild"));
        esbuild.current_dir(&directory).args(["three.entry.js", "--bundle", "--minify"]);
        let output = ["--format=esm", "--legal-comments=inline", "--outfile=three.min.js"];
        workspace::run(esbuild.args(output))?;
        copy(&directory.join("three.min.js"), &vendor.join("three.min.js"))?;
        copy(&directory.join("node_modules/three/LICENSE"), &vendor.join("LICENSE"))?;
        Ok(ExitCode::SUCCESS)
    }
}
