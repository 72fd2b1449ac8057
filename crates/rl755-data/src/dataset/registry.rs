//! Datasets by name: where each lies below the data directory.

use std::{
    collections::BTreeMap,
    path::{Component, Path, PathBuf},
};

use rl755_run::UnknownName;

/// What stands for the environment's id in a registered path.
const ENVIRONMENT: &str = "{environment}";

/// A dataset's name does not lead to a directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DatasetNameError {
    /// It is neither a directory nor a name.
    #[error("{} is no dataset: nothing is there, and {unknown}", path.display())]
    Unknown {
        /// What was given.
        path: PathBuf,
        /// The names that are known.
        unknown: UnknownName,
    },
    /// Each environment has a dataset of that name.
    #[error("which environment's {name}? There is one for each: name the environment, too")]
    WhichEnvironment {
        /// The dataset's name.
        name: String,
    },
    /// The environment's id cannot be a part of a path.
    #[error("`{environment}` cannot be a directory in the data directory")]
    Environment {
        /// The id.
        environment: String,
    },
}

/// Datasets by name.
///
/// A name stands for a path below the data directory, in which `{environment}` is the environment's
/// id:
///
/// ```text
/// RawRollouts       DATA/CarRacing-v3/raw_rollouts
/// EncodedRollouts   DATA/CarRacing-v3/encoded_rollouts
/// ```
///
/// ```
/// # use std::path::Path;
/// use rl755_data::DatasetRegistry;
///
/// let mut registry = DatasetRegistry::with_builtin();
/// registry.add("Champions", "{environment}/champions").add("Tiny", "/usr/share/tiny");
/// let find = |name| registry.find(Path::new(name), Some("CarRacing-v3"), Path::new("data"));
/// assert_eq!(find("RawRollouts")?, Path::new("data/CarRacing-v3/raw_rollouts"));
/// assert_eq!(find("Champions")?, Path::new("data/CarRacing-v3/champions"));
/// assert_eq!(find("Tiny")?, Path::new("/usr/share/tiny"));
/// // A path is a path.
/// assert_eq!(find("runs/a/dataset")?, Path::new("runs/a/dataset"));
/// # Ok::<(), rl755_data::DatasetNameError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DatasetRegistry {
    paths: BTreeMap<String, String>,
}

impl DatasetRegistry {
    /// The name of the raw rollouts of an environment.
    pub const RAW: &str = "RawRollouts";
    /// The name of the encoded rollouts of an environment.
    pub const ENCODED: &str = "EncodedRollouts";

    /// `RawRollouts` and `EncodedRollouts`.
    pub fn with_builtin() -> Self {
        let mut registry = Self { paths: BTreeMap::new() };
        registry
            .add(Self::RAW, "{environment}/raw_rollouts")
            .add(Self::ENCODED, "{environment}/encoded_rollouts");
        registry
    }

    /// Adds `name` for the dataset at `path`, which is below the data directory unless it is
    /// absolute, replacing another of that name.
    pub fn add(&mut self, name: &str, path: &str) -> &mut Self {
        self.paths.insert(name.to_owned(), path.to_owned());
        self
    }

    /// The names, sorted.
    pub fn names(&self) -> Vec<&str> {
        self.paths.keys().map(String::as_str).collect()
    }

    /// The path that `dataset` stands for: that of a registered name, or `dataset` itself where it
    /// is a path. A directory that is called like a registered name is written `./NAME`.
    ///
    /// # Errors
    /// When it is one word, no file or directory is there and no dataset is called so, or it is a
    /// name that needs an environment and there is none.
    pub fn find(
        &self,
        dataset: &Path,
        environment: Option<&str>,
        data_dir: &Path,
    ) -> Result<PathBuf, DatasetNameError> {
        let named = dataset.to_str().filter(|name| self.paths.contains_key(*name));
        if let Some(name) = named {
            return self.path(name, environment, data_dir);
        }
        let is_word = dataset.components().count() == 1
            && matches!(dataset.components().next(), Some(Component::Normal(_)));
        if is_word && !dataset.exists() {
            let known = self.names().into_iter().map(str::to_owned).collect();
            let unknown = UnknownName::new("dataset", &dataset.to_string_lossy(), known);
            return Err(DatasetNameError::Unknown { path: dataset.to_owned(), unknown });
        }
        Ok(dataset.to_owned())
    }

    /// Where the dataset called `name` is, or is to be written.
    ///
    /// # Errors
    /// When none is called so, or it needs an environment and there is none.
    pub fn path(
        &self,
        name: &str,
        environment: Option<&str>,
        data_dir: &Path,
    ) -> Result<PathBuf, DatasetNameError> {
        let Some(path) = self.paths.get(name) else {
            let known = self.names().into_iter().map(str::to_owned).collect();
            let unknown = UnknownName::new("dataset", name, known);
            return Err(DatasetNameError::Unknown { path: name.into(), unknown });
        };
        if !path.contains(ENVIRONMENT) {
            return Ok(data_dir.join(path));
        }
        let environment = environment
            .ok_or_else(|| DatasetNameError::WhichEnvironment { name: name.to_owned() })?;
        // Ids such as ALE/Pong-v5 are directories within directories.
        let is_below = |part: Component<'_>| matches!(part, Component::Normal(_));
        if environment.is_empty() || !Path::new(environment).components().all(is_below) {
            let environment = environment.to_owned();
            return Err(DatasetNameError::Environment { environment });
        }
        Ok(data_dir.join(path.replace(ENVIRONMENT, environment)))
    }
}

impl Default for DatasetRegistry {
    fn default() -> Self {
        Self::with_builtin()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_paths_are_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let registry = DatasetRegistry::with_builtin();
        let find = |dataset: &str, environment: Option<&str>| {
            registry
                .find(Path::new(dataset), environment, directory.path())
                .map_err(|error| error.to_string())
        };
        let below = |path: &str| Ok(directory.path().join(path));
        assert_eq!(find("RawRollouts", Some("Dot-v0")), below("Dot-v0/raw_rollouts"));
        assert_eq!(find("RawRollouts", Some("ALE/Pong-v5")), below("ALE/Pong-v5/raw_rollouts"));
        for path in ["./RawRollouts", "a/RawRollouts", "/a", ".", "..", "src"] {
            assert_eq!(find(path, None), Ok(path.into()));
        }
        let error = find("RawRollout", None).unwrap_err();
        assert_eq!(
            error,
            "RawRollout is no dataset: nothing is there, and no dataset is called `RawRollout` \
             (did you mean `RawRollouts`?); known are EncodedRollouts, RawRollouts"
        );
        let error = find("EncodedRollouts", None).unwrap_err();
        assert!(error.starts_with("which environment's EncodedRollouts?"), "{error}");
        for environment in ["", "..", "/tmp", "a/../../b"] {
            let error = find("RawRollouts", Some(environment)).unwrap_err();
            assert!(error.contains("cannot be a directory"), "{error}");
        }
    }
}
