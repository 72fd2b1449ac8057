//! Where LibTorch is, and what programs that use it need to be told.

use std::{env, path::PathBuf};

use anyhow::bail;

use crate::workspace;

/// LibTorch as `cargo xtask setup --libtorch` unpacks it.
pub(crate) fn directory() -> PathBuf {
    workspace::target_dir().join("libtorch")
}

/// Where programs with LibTorch are built, so that the others need not be built again.
pub(crate) fn target_dir() -> PathBuf {
    workspace::target_dir().join("tch")
}

/// The environment variables for building and running with LibTorch: as the user set them, or for
/// the one that the set-up unpacked.
pub(crate) fn environment() -> anyhow::Result<Vec<(&'static str, String)>> {
    if env::var_os("LIBTORCH").is_some() || env::var_os("LIBTORCH_USE_PYTORCH").is_some() {
        return Ok(vec![]);
    }
    let torch = directory().join("torch");
    let libraries = torch.join("lib");
    if !libraries.is_dir() {
        bail!(
            "LibTorch is not there: run `cargo xtask setup --libtorch`, or set LIBTORCH to the \
             directory of a LibTorch 2.9"
        );
    }
    let mut search = libraries.display().to_string();
    if let Ok(before) = env::var("LD_LIBRARY_PATH")
        && !before.is_empty()
    {
        search = format!("{search}:{before}");
    }
    Ok(vec![
        ("LIBTORCH", torch.display().to_string()),
        ("LIBTORCH_CXX11_ABI", "1".to_owned()),
        ("LD_LIBRARY_PATH", search),
    ])
}
