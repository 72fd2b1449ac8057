//! `cargo xtask test-browser`: the plotter's page in a browser.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};

use crate::{mujoco, workspace};

/// What Chromium is called, and what has the same protocol.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Run the tests of the plotter's page in Chromium
///
/// They need Chromium (Debian: apt-get install chromium) and `cargo xtask setup --mujoco`, and no
/// display.
#[derive(clap::Args)]
pub(crate) struct TestBrowser {
    /// Chromium or Chrome [default: the variable CHROMIUM, else what is found on PATH]
    #[arg(long, value_name = "PROGRAM")]
    chromium: Option<PathBuf>,
    /// Only tests whose name contains this
    #[arg(long, value_name = "TEXT", conflicts_with = "screenshots")]
    filter: Option<String>,
    /// Instead of testing, write the documentation's pictures of the page there
    #[arg(long, value_name = "DIR")]
    screenshots: Option<PathBuf>,
    /// With --screenshots, those of a world model: what `cargo xtask pipeline` has made
    #[arg(long, value_name = "RUN", requires = "screenshots")]
    world_model: Option<PathBuf>,
}

impl TestBrowser {
    /// Runs the tests, or takes the pictures.
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let chromium = self.chromium.or_else(|| env::var_os("CHROMIUM").map(PathBuf::from));
        let chromium = find(chromium.as_deref(), env::var_os("PATH"))?;
        if !mujoco::is_there() {
            bail!("the tests show MuJoCo's bodies: run `cargo xtask setup --mujoco` first");
        }
        // As all tests are built, so that burn is compiled once.
        let mut command = workspace::cargo(&["test", "--release", "--workspace"]);
        mujoco::add_feature(&mut command);
        command.args(["--test", "browser"]).env("CHROMIUM", chromium);
        // One after the other: each has a browser that draws on the processor beside a training.
        command.args(["--", "--test-threads=1"]);
        if let Some(directory) = &self.screenshots {
            fs::create_dir_all(directory)
                .with_context(|| format!("{} cannot be made", directory.display()))?;
            let kind = match &self.world_model {
                Some(run) => {
                    command.env("WORLD_MODEL", absolute(run)?);
                    "screenshots_of_a_world_model"
                }
                None => "screenshots_of_bodies",
            };
            command.env("SCREENSHOTS", absolute(directory)?).args(["--ignored", kind]);
        }
        command.args(self.filter);
        workspace::run(&mut command)?;
        Ok(ExitCode::SUCCESS)
    }
}

fn absolute(path: &Path) -> anyhow::Result<PathBuf> {
    path.canonicalize().with_context(|| format!("{} cannot be read", path.display()))
}

/// The browser that was asked for, or the first one on `path`.
fn find(asked: Option<&Path>, path: Option<OsString>) -> anyhow::Result<PathBuf> {
    let directories: Vec<_> = path.iter().flat_map(env::split_paths).collect();
    // A name with a directory in it is looked for there, and joining an absolute one replaces.
    let look = |name: &Path| {
        let places = directories.iter().map(|directory| directory.join(name));
        let here = (name.components().count() > 1).then(|| name.to_owned());
        here.into_iter().chain(places).find(|place| place.is_file())
    };
    let found = match asked {
        Some(name) => look(name),
        None => NAMES.iter().find_map(|name| look(name.as_ref())),
    };
    found.with_context(|| {
        let what = match asked {
            Some(name) => format!("there is no {}", name.display()),
            None => format!("none of {} is on PATH", NAMES.join(", ")),
        };
        format!(
            "{what}: install Chromium (Debian and Ubuntu: `apt-get install chromium`), or name it \
             with --chromium or the variable CHROMIUM"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_is_found_by_name_or_path_or_it_is_told_how_to_get_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = || Some(folder.path().as_os_str().to_owned());
        let missing = find(None, path()).unwrap_err().to_string();
        assert!(missing.contains("google-chrome") && missing.contains("apt-get"), "{missing}");
        let chrome = folder.path().join("google-chrome");
        fs::write(&chrome, "").unwrap();
        for asked in [None, Some(Path::new("google-chrome")), Some(&*chrome)] {
            assert_eq!(find(asked, path()).unwrap(), chrome);
        }
        let error = find(Some(Path::new("/no/chrome")), path()).unwrap_err().to_string();
        assert!(error.starts_with("there is no /no/chrome: install Chromium"), "{error}");
    }
}
