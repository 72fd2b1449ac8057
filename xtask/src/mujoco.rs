//! MuJoCo's library: where it is, how it gets there, and what is built with it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, bail};

use crate::workspace;

/// The version that mujoco-rs is made for and Gymnasium's states are compared with. There are newer
/// ones.
pub(crate) const VERSION: &str = "3.17.0";

/// The feature that builds programs with it.
pub(crate) const FEATURE: &str = "rl755-cli/mujoco";

/// Python's package that the library is taken from needs an interpreter's version; any would do.
const WHEEL: [&str; 8] = [
    "--platform",
    "manylinux_2_28_x86_64",
    "--python-version",
    "3.11",
    "--implementation",
    "cp",
    "--only-binary",
    ":all:",
];

/// The library as `cargo xtask setup --mujoco` puts it, where programs look for it; or where the user
/// said that it is.
pub(crate) fn directory() -> PathBuf {
    // Cargo sets the variable to the first when it is not set outside.
    let given = std::env::var_os(VARIABLE).map(PathBuf::from);
    let default = workspace::root().join("target/mujoco");
    given.filter(|path| *path != default).unwrap_or_else(|| workspace::target_dir().join("mujoco"))
}

const VARIABLE: &str = "MUJOCO_DYNAMIC_LINK_DIR";

fn file_name() -> String {
    format!("libmujoco.so.{VERSION}")
}

/// Whether the library is there.
pub(crate) fn is_there() -> bool {
    directory().join(file_name()).is_file()
}

/// Lets `cargo` build with MuJoCo, if it is there.
pub(crate) fn add_feature(cargo: &mut Command) -> &mut Command {
    if is_there() {
        cargo.env(VARIABLE, directory()).args(["--features", FEATURE]);
    }
    cargo
}

/// Builds the example `name` of rl755-env-mujoco; the program it became. Without the library it has no
/// MuJoCo, if it can be without.
pub(crate) fn build_example(name: &str) -> anyhow::Result<PathBuf> {
    let mut command = workspace::cargo(&["build", "--release", "--package", "rl755-env-mujoco"]);
    command.args(["--example", name]);
    if is_there() {
        command.env(VARIABLE, directory()).args(["--features", "render"]);
    }
    workspace::run(&mut command)?;
    Ok(workspace::target_dir().join("release/examples").join(name))
}

/// Takes the library and its licences out of MuJoCo's Python package.
pub(crate) fn set_up() -> anyhow::Result<()> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        bail!(
            "only for Linux on x86-64; elsewhere install MuJoCo {VERSION} and set {VARIABLE} to \
             the directory of its library"
        );
    }
    let directory = workspace::target_dir().join("mujoco");
    if directory.join(file_name()).is_file() {
        println!("MuJoCo {VERSION} is in {} already", directory.display());
        return Ok(());
    }
    // Unpacked under another name, so that half of it is not taken for all.
    let parent = workspace::target_dir();
    fs::create_dir_all(&parent)?;
    let making = tempfile::Builder::new().prefix("mujoco.making-").tempdir_in(&parent)?;
    let (complete, unpacked) = (making.path().join("complete"), making.path().join("unpacked"));
    let mut command = Command::new("python3");
    command.args(["-m", "pip", "download", "--no-deps", "--disable-pip-version-check"]);
    command.args(WHEEL).arg("--dest").arg(making.path()).arg(format!("mujoco=={VERSION}"));
    workspace::run(&mut command)?;
    let wheel = only_wheel(making.path())?;
    let mut command = Command::new("python3");
    workspace::run(command.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&unpacked))?;
    fs::create_dir(&complete)?;
    take(&unpacked, &complete)?;
    // Somebody else may have been faster.
    if let Err(error) = fs::rename(&complete, &directory)
        && !directory.join(file_name()).is_file()
    {
        return Err(error).with_context(|| format!("cannot make {}", directory.display()));
    }
    println!("MuJoCo {VERSION} is in {}, with its licences", directory.display());
    Ok(())
}

fn only_wheel(directory: &Path) -> anyhow::Result<PathBuf> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "whl") {
            return Ok(path);
        }
    }
    bail!("pip has left no package in {}", directory.display());
}

/// Moves the library and its licences from an unpacked package to `to`, and links the name that the
/// linker looks for.
fn take(unpacked: &Path, to: &Path) -> anyhow::Result<()> {
    let library = file_name();
    let licences = unpacked.join(format!("mujoco-{VERSION}.dist-info/licenses"));
    let mut files = vec![(unpacked.join("mujoco").join(&library), library.clone())];
    for name in ["LICENSE", "LICENSES_THIRD_PARTY.md"] {
        files.push((licences.join(name), name.to_owned()));
    }
    for (from, name) in files {
        fs::rename(&from, to.join(name))
            .with_context(|| format!("MuJoCo's package has no {}", from.display()))?;
    }
    let start = fs::read(to.join(&library))?;
    if !start.starts_with(b"\x7fELF") || !contains(&start, VERSION.as_bytes()) {
        bail!("{library} of MuJoCo's package is no library of version {VERSION}");
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(&library, to.join("libmujoco.so"))?;
    Ok(())
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(library: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let licences = folder.path().join("unpacked/mujoco-3.17.0.dist-info/licenses");
        fs::create_dir_all(&licences).unwrap();
        fs::create_dir_all(folder.path().join("unpacked/mujoco")).unwrap();
        fs::write(folder.path().join("unpacked/mujoco/libmujoco.so.3.17.0"), library).unwrap();
        for name in ["LICENSE", "LICENSES_THIRD_PARTY.md"] {
            fs::write(licences.join(name), name).unwrap();
        }
        folder
    }

    #[test]
    fn the_library_and_its_licences_are_taken_out_of_the_package() {
        let folder = package(b"\x7fELF ... 3.17.0 ...");
        take(&folder.path().join("unpacked"), folder.path()).unwrap();
        for name in ["libmujoco.so", "libmujoco.so.3.17.0", "LICENSE", "LICENSES_THIRD_PARTY.md"] {
            assert!(folder.path().join(name).is_file(), "{name}");
        }
    }

    #[test]
    fn another_file_or_version_is_refused() {
        for library in [b"\x7fELF ... 4.0.0 ...".as_slice(), b"<html>3.17.0", b""] {
            let folder = package(library);
            let error = take(&folder.path().join("unpacked"), folder.path()).unwrap_err();
            assert!(error.to_string().contains("no library of version 3.17.0"), "{error}");
        }
    }
}
