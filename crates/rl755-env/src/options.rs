//! Options behind an environment's id: `CarRacing-v3:continuous=false,lap_complete_percent=0.9`.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Scene3d, Step};

/// An id with the options behind it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Id {
    /// The registered id.
    pub(crate) name: String,
    options: Map<String, Value>,
}

impl Id {
    /// An id that is registered as it is, without options.
    pub(crate) fn whole(text: &str) -> Self {
        Self { name: text.to_owned(), options: Map::new() }
    }

    /// Reads `NAME` or `NAME:OPTION=VALUE,…`. A value is a number, `true`, `false`, `null`, a list
    /// such as `[1,2]`, or a word.
    pub(crate) fn parse(text: &str) -> Result<Self, EnvError> {
        let Some((name, options)) = text.split_once(':') else {
            return Ok(Self::whole(text));
        };
        let bad = |reason: String| EnvError::Options { env: name.to_owned(), reason };
        let mut found = Map::new();
        for option in outside_brackets(options) {
            let Some((key, value)) = option.split_once('=') else {
                return Err(bad(format!("`{option}` is no option; one is NAME=VALUE")));
            };
            let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
            if found.insert(key.to_owned(), value).is_some() {
                return Err(bad(format!("the option `{key}` is given twice")));
            }
        }
        Ok(Self { name: name.to_owned(), options: found })
    }

    /// The options as a config; what is missing takes its default.
    pub(crate) fn config<C: DeserializeOwned>(&self) -> Result<C, EnvError> {
        C::deserialize(Value::Object(self.options.clone())).map_err(|error| EnvError::Options {
            env: self.name.clone(),
            reason: match self.first_refused::<C>() {
                Some((key, value)) => format!("`{}`: {error}", text(key, value)),
                None => error.to_string(),
            },
        })
    }

    /// The option that a config does not take even alone.
    fn first_refused<C: DeserializeOwned>(&self) -> Option<(&String, &Value)> {
        let alone = |(key, value): (&String, &Value)| {
            Value::Object(Map::from_iter([(key.clone(), value.clone())]))
        };
        self.options.iter().find(|&option| C::deserialize(alone(option)).is_err())
    }

    /// `env` under this id, options included, so that it can be made again by its spec's id.
    pub(crate) fn name(&self, env: Box<dyn Env>) -> Box<dyn Env> {
        if self.options.is_empty() {
            return env;
        }
        let options = self.options.iter().map(|(key, value)| text(key, value));
        let id = format!("{}:{}", self.name, options.collect::<Vec<_>>().join(","));
        let spec = EnvSpec { id, ..env.spec().clone() };
        Box::new(Named { env, spec })
    }
}

/// An option as it is written.
fn text(key: &str, value: &Value) -> String {
    match value {
        Value::String(word) => format!("{key}={word}"),
        value => format!("{key}={value}"),
    }
}

/// The parts of `text` between commas that no bracket encloses.
fn outside_brackets(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    text.split(move |c: char| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}

/// An environment under another id.
struct Named {
    env: Box<dyn Env>,
    spec: EnvSpec,
}

impl Env for Named {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        self.env.reset(seed, observation)
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        self.env.step(action, observation)
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.env.render()
    }

    fn scene(&self) -> Option<&dyn Scene3d> {
        self.env.scene()
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Config {
        fast: bool,
        share: f64,
        kind: String,
        range: [f64; 2],
    }

    #[test]
    fn options_are_read_and_named_again_in_one_order() {
        let id = Id::parse("A-v1:kind=exact,range=[1,2.5],share=0.5,fast=true").unwrap();
        let kind = "exact".to_owned();
        let config = Config { fast: true, share: 0.5, kind, range: [1.0, 2.5] };
        assert_eq!(id.config::<Config>().unwrap(), config);
        let env = id.name(Box::new(crate::CartPole::new()));
        assert_eq!(env.spec().id, "A-v1:fast=true,kind=exact,range=[1,2.5],share=0.5");
        assert_eq!(Id::parse(&env.spec().id).unwrap(), id);
        assert_eq!(Id::parse("A-v1").unwrap().config::<Config>().unwrap(), Config::default());
    }

    #[test]
    fn wrong_options_are_named() {
        let error = |text: &str| match Id::parse(text).and_then(|id| id.config::<Config>()) {
            Err(error) => error.to_string(),
            Ok(config) => panic!("{config:?}"),
        };
        assert!(
            error("A-v1:fats=true")
                .contains("`fats=true`: unknown field `fats`, expected one of `fast`")
        );
        let wrong = error("A-v1:share=1,fast=2");
        assert!(
            wrong.contains("`fast=2`: invalid type: integer `2`, expected a boolean"),
            "{wrong}"
        );
        assert_eq!(error("A-v1:fast"), "A-v1: `fast` is no option; one is NAME=VALUE");
        assert_eq!(error("A-v1:fast=true,fast=false"), "A-v1: the option `fast` is given twice");
    }
}
