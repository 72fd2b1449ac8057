//! Controllers by name.

use std::{collections::BTreeMap, fmt};

use rl755_run::{UnknownName, parse_settings};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Controller, ControllerError, ControllerInputs, LinearController};

/// A [`Controller`] that can be made by name: all that a crate writes to add its own.
pub trait ControllerArchitecture: Controller + Sized + 'static {
    /// The name users type: `linear`.
    const NAME: &'static str;

    /// Its settings. Fields that a user leaves out take their defaults.
    type Config: Default + Serialize + DeserializeOwned;

    /// Makes the controller for these inputs.
    ///
    /// # Errors
    /// When the config has a bad value, or the controller cannot act in the action space.
    fn new(inputs: &ControllerInputs, config: &Self::Config) -> Result<Self, ControllerError>;
}

/// The controllers a program knows.
///
/// ```
/// use rl755_controller::{ControllerInputs, ControllerRegistry};
/// use rl755_env::Space;
///
/// let registry = ControllerRegistry::with_builtin();
/// let inputs = ControllerInputs {
///     latent_size: 32,
///     hidden_size: 256,
///     action_space: Space::Box { low: vec![-1.0, 0.0, 0.0], high: vec![1.0; 3] },
/// };
/// let linear = registry.make("linear", &inputs, &serde_json::Value::Null)?;
/// assert_eq!(linear.num_parameters(), 867);
/// # Ok::<(), rl755_controller::ControllerError>(())
/// ```
#[derive(Clone, Default)]
pub struct ControllerRegistry {
    entries: BTreeMap<&'static str, Entry>,
}

/// A controller, or why it could not be made.
type Made = Result<Box<dyn Controller>, ControllerError>;

/// An architecture with its type gone.
#[derive(Clone, Copy)]
struct Entry {
    resolve: fn(&serde_json::Value) -> Result<serde_json::Value, ControllerError>,
    make: fn(&ControllerInputs, &serde_json::Value) -> Made,
}

impl ControllerRegistry {
    /// Without any controller.
    pub fn empty() -> Self {
        Self::default()
    }

    /// With the controllers of this crate: `linear`.
    pub fn with_builtin() -> Self {
        let mut registry = Self::empty();
        registry.add::<LinearController>();
        registry
    }

    /// Adds `A` under its name, replacing what was there.
    pub fn add<A: ControllerArchitecture>(&mut self) -> &mut Self {
        let entry = Entry {
            resolve: |config| {
                let config = parse::<A>(config)?;
                serde_json::to_value(config).map_err(|e| config_error::<A>(e.to_string()))
            },
            make: |inputs, config| Ok(Box::new(A::new(inputs, &parse::<A>(config)?)?)),
        };
        self.entries.insert(A::NAME, entry);
        self
    }

    /// The names, sorted.
    pub fn names(&self) -> Vec<String> {
        self.entries.keys().map(|&name| name.to_owned()).collect()
    }

    /// The settings of the controller called `name`, with their defaults.
    ///
    /// # Errors
    /// When no such name is registered.
    pub fn default_config(&self, name: &str) -> Result<serde_json::Value, ControllerError> {
        self.resolve_config(name, &serde_json::Value::Null)
    }

    /// `config` with every default filled in; null stands for no settings.
    ///
    /// # Errors
    /// When no such name is registered, or a setting is unknown or of another type.
    pub fn resolve_config(
        &self,
        name: &str,
        config: &serde_json::Value,
    ) -> Result<serde_json::Value, ControllerError> {
        (self.entry(name)?.resolve)(config)
    }

    /// Makes the controller called `name`; `config` may leave settings out, or be null.
    ///
    /// # Errors
    /// When no such name is registered (naming the nearest), or the controller cannot be made.
    pub fn make(
        &self,
        name: &str,
        inputs: &ControllerInputs,
        config: &serde_json::Value,
    ) -> Result<Box<dyn Controller>, ControllerError> {
        (self.entry(name)?.make)(inputs, config)
    }

    fn entry(&self, name: &str) -> Result<&Entry, UnknownName> {
        self.entries.get(name).ok_or_else(|| UnknownName::new("controller", name, self.names()))
    }
}

impl fmt::Debug for ControllerRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.keys()).finish()
    }
}

fn parse<A: ControllerArchitecture>(
    config: &serde_json::Value,
) -> Result<A::Config, ControllerError> {
    parse_settings(config).map_err(config_error::<A>)
}

fn config_error<A: ControllerArchitecture>(reason: String) -> ControllerError {
    ControllerError::Config { controller: A::NAME.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use rl755_env::Space;

    use super::*;

    fn inputs() -> ControllerInputs {
        let action_space = Space::Discrete { n: 2 };
        ControllerInputs { latent_size: 3, hidden_size: 0, action_space }
    }

    #[test]
    fn unknown_names_are_answered_with_the_nearest() {
        let error = ControllerRegistry::with_builtin()
            .make("liner", &inputs(), &serde_json::Value::Null)
            .map(|_| ())
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "no controller is called `liner` (did you mean `linear`?); known are linear"
        );
    }

    #[test]
    fn unknown_settings_are_rejected_and_known_ones_completed() {
        let registry = ControllerRegistry::with_builtin();
        let error =
            registry.resolve_config("linear", &serde_json::json!({ "bias": 1 })).unwrap_err();
        assert!(error.to_string().contains("config of linear: unknown field `bias`"), "{error}");
        assert_eq!(
            registry.default_config("linear").unwrap(),
            serde_json::json!({ "squash": ["tanh"] })
        );
    }
}
