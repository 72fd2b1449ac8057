//! Environment ids and how each is made.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{Env, EnvError};

/// Makes one environment.
type Factory = Arc<dyn Fn() -> Result<Box<dyn Env>, EnvError> + Send + Sync>;

/// The environments a program knows, by versioned id.
#[derive(Clone, Default)]
pub struct EnvRegistry {
    factories: BTreeMap<String, Factory>,
}

impl EnvRegistry {
    /// Registers `factory` under `id`, replacing what was there.
    pub fn add<F>(&mut self, id: &str, factory: F)
    where
        F: Fn() -> Result<Box<dyn Env>, EnvError> + Send + Sync + 'static,
    {
        self.factories.insert(id.to_owned(), Arc::new(factory));
    }

    /// Every registered id, sorted.
    pub fn ids(&self) -> Vec<String> {
        self.factories.keys().cloned().collect()
    }

    /// Makes the environment called `id`.
    ///
    /// # Errors
    /// When no such id is registered (naming the nearest), or when its factory fails.
    pub fn make(&self, id: &str) -> Result<Box<dyn Env>, EnvError> {
        let factory = self.factories.get(id).ok_or_else(|| EnvError::UnknownId {
            id: id.to_owned(),
            nearest: None,
            known: self.ids(),
        })?;
        factory()
    }
}

impl fmt::Debug for EnvRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.factories.keys()).finish()
    }
}
