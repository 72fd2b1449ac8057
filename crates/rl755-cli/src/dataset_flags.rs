//! Which dataset a stage reads.

use std::{
    env::{self, VarError},
    path::{Path, PathBuf},
};

use anyhow::bail;
use rl755_data::Dataset;

use crate::Plugins;

/// The environment variable with the data directory.
const DATA_DIR: &str = "RL755_DATA";

/// A dataset by path or by name.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DatasetFlags {
    /// The rollouts: a directory that rl755-pack or rl755-encode wrote, or the name of a dataset in
    /// the data directory, RawRollouts or EncodedRollouts, of the environment that --environment
    /// gives [alias: --dataset]
    #[arg(long, alias = "dataset", value_name = "DIR|NAME")]
    rollouts_dataset: PathBuf,
    /// The environment that the rollouts must come from, if given
    #[arg(long, value_name = "ID")]
    environment: Option<String>,
    /// Where datasets with names are: DIR/CarRacing-v3/raw_rollouts is RawRollouts [default:
    /// $RL755_DATA, or else data]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

impl DatasetFlags {
    /// The dataset's directory, if it is one of the environment.
    pub(crate) fn find(&self, plugins: &Plugins) -> anyhow::Result<PathBuf> {
        let environment = self.environment.as_deref();
        let directory =
            plugins.datasets.find(&self.rollouts_dataset, environment, &self.data_dir()?)?;
        if let Some(expected) = environment {
            check_environment(&directory, expected)?;
        }
        Ok(directory)
    }

    /// Where the data of `environment` that is called `name` goes.
    pub(crate) fn place(
        &self,
        plugins: &Plugins,
        name: &str,
        environment: &str,
    ) -> anyhow::Result<PathBuf> {
        Ok(plugins.datasets.path(name, Some(environment), &self.data_dir()?)?)
    }

    fn data_dir(&self) -> anyhow::Result<PathBuf> {
        if let Some(directory) = &self.data_dir {
            return Ok(directory.clone());
        }
        match env::var(DATA_DIR) {
            Ok(directory) if !directory.is_empty() => Ok(directory.into()),
            // As of arguments: it could not be written into manifests.
            Err(VarError::NotUnicode(path)) => bail!("{DATA_DIR} is not UTF-8: {}", path.display()),
            _ => Ok("data".into()),
        }
    }
}

/// Refuses a dataset that comes from another environment than `expected`.
fn check_environment(dataset: &Path, expected: &str) -> anyhow::Result<()> {
    let found = Dataset::open(dataset)?.manifest().environment.id.clone();
    if found != expected {
        bail!("{} holds rollouts of {found}, not of {expected}", dataset.display());
    }
    Ok(())
}
