//! Checks of a dataset against flags.

use std::path::Path;

use anyhow::bail;
use rl755_data::Dataset;

/// Refuses a dataset that comes from another environment than `expected`, if one is.
pub(crate) fn check_environment(dataset: &Path, expected: Option<&str>) -> anyhow::Result<()> {
    let Some(expected) = expected else { return Ok(()) };
    let found = Dataset::open(dataset)?.manifest().environment.id.clone();
    if found != expected {
        bail!("{} holds rollouts of {found}, not of {expected}", dataset.display());
    }
    Ok(())
}
