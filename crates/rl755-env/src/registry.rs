//! Environment ids and how each is made.

use std::{cmp::Reverse, collections::BTreeMap, fmt, sync::Arc};

use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    Acrobot, CarRacing, CartPole, Env, EnvError, MountainCar, MountainCarContinuous, Pendulum,
    TimeLimit, options::Id,
};

/// Makes one environment, with the options behind its id.
type Factory = Arc<dyn Fn(&Id) -> Result<Box<dyn Env>, EnvError> + Send + Sync>;

/// For environments without options.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoOptions {}

/// The environments a program knows, by versioned id.
///
/// An environment's options follow its id: `CarRacing-v3:lap_complete_percent=0.9`.
#[derive(Clone, Default)]
pub struct EnvRegistry {
    factories: BTreeMap<String, Factory>,
}

impl EnvRegistry {
    /// A registry that knows this crate's environments.
    pub fn with_builtin() -> Self {
        let mut registry = Self::default();
        registry.add_with_options(CarRacing::ID, |c| Ok(Box::new(CarRacing::new(c)?)));
        registry
            .add_with_options(CarRacing::ORIGINAL_ID, |c| Ok(Box::new(CarRacing::original(c)?)));
        registry.add_with_options(CartPole::ID, |c| Ok(Box::new(CartPole::with_config(c))));
        registry.add_with_options(Pendulum::ID, |c| Ok(Box::new(Pendulum::with_config(c))));
        registry.add_with_options(MountainCar::ID, |c| Ok(Box::new(MountainCar::with_config(c))));
        registry.add_with_options(MountainCarContinuous::ID, |c| {
            Ok(Box::new(MountainCarContinuous::with_config(c)))
        });
        registry.add(Acrobot::ID, || Ok(Box::new(Acrobot::new())));
        registry
    }

    /// Registers `factory` under `id`, replacing what was there.
    pub fn add<F>(&mut self, id: &str, factory: F)
    where
        F: Fn() -> Result<Box<dyn Env>, EnvError> + Send + Sync + 'static,
    {
        self.add_with_options(id, move |NoOptions {}| factory());
    }

    /// Registers `factory` under `id`, replacing what was there. It is given the options behind the
    /// id as a config, which should refuse unknown fields (`serde(deny_unknown_fields)`) and have
    /// defaults (`serde(default)`).
    pub fn add_with_options<C, F>(&mut self, id: &str, factory: F)
    where
        C: DeserializeOwned,
        F: Fn(C) -> Result<Box<dyn Env>, EnvError> + Send + Sync + 'static,
    {
        let factory = move |id: &Id| Ok(id.name(factory(id.config()?)?));
        self.factories.insert(id.to_owned(), Arc::new(factory));
    }

    /// Every registered id, sorted.
    pub fn ids(&self) -> Vec<String> {
        self.factories.keys().cloned().collect()
    }

    /// Makes the environment called `id`, with the options behind it, within a [`TimeLimit`] if its spec has
    /// [`max_episode_steps`](crate::EnvSpec::max_episode_steps).
    ///
    /// # Errors
    /// When no such id is registered (naming the nearest), when it does not take such options, or
    /// when its factory fails.
    pub fn make(&self, id: &str) -> Result<Box<dyn Env>, EnvError> {
        let whole = self.factories.contains_key(id);
        let id = if whole { Id::whole(id) } else { Id::parse(id)? };
        let Some(factory) = self.factories.get(&id.name) else {
            let nearest = self.nearest(&id.name);
            return Err(EnvError::UnknownId { id: id.name, nearest, known: self.ids() });
        };
        let env = factory(&id)?;
        Ok(match env.spec().max_episode_steps {
            Some(max_steps) => Box::new(TimeLimit::new(env, max_steps)),
            None => env,
        })
    }

    /// The registered id that `id` was probably meant to be: one that it begins, such as an id
    /// without its version, or else the one with the fewest typing errors, if they are few. Of
    /// several versions it is the last.
    fn nearest(&self, id: &str) -> Option<String> {
        let wanted = id.trim().to_lowercase();
        if wanted.is_empty() {
            return None;
        }
        let errors = |known: &str| match known.strip_prefix(&wanted) {
            Some(_) => 0,
            None => strsim::damerau_levenshtein(&wanted, known),
        };
        self.factories
            .keys()
            .map(|known| (errors(&known.to_lowercase()), Reverse(known)))
            .filter(|(errors, Reverse(known))| *errors <= known.len().div_ceil(3))
            .min()
            .map(|(_, Reverse(known))| known.clone())
    }
}

impl fmt::Debug for EnvRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.factories.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ObservationBuffer;

    fn suggestion(id: &str) -> Option<String> {
        match EnvRegistry::with_builtin().make(id) {
            Err(EnvError::UnknownId { nearest, .. }) => nearest,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("{id} exists"),
        }
    }

    #[test]
    fn unknown_ids_are_answered_with_the_nearest_known_one() {
        for id in ["CartPole", "cartpole-v1", "CartPole-v0", "CatPole-v1", "CartPole-v12"] {
            assert_eq!(suggestion(id).as_deref(), Some("CartPole-v1"), "{id}");
        }
    }

    #[test]
    fn every_builtin_environment_is_made_under_its_own_id() {
        let registry = EnvRegistry::with_builtin();
        let known = [
            "Acrobot-v1",
            "CarRacing-v0",
            "CarRacing-v3",
            "CartPole-v1",
            "MountainCar-v0",
            "MountainCarContinuous-v0",
            "Pendulum-v1",
        ];
        assert_eq!(registry.ids(), known);
        for id in registry.ids() {
            assert_eq!(registry.make(&id).unwrap().spec().id, id);
        }
        assert_eq!(suggestion("carracing-v2").as_deref(), Some("CarRacing-v3"));
    }

    #[test]
    fn ids_unlike_any_known_one_get_no_suggestion() {
        for id in ["", " ", "Swimmer-v5", "x"] {
            assert_eq!(suggestion(id), None, "{id}");
        }
    }

    #[test]
    fn the_message_lists_what_is_known() {
        let error = EnvRegistry::with_builtin().make("CartPole-v0").map(|_| ()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with(
                "no environment is called `CartPole-v0` (did you mean `CartPole-v1`?)"
            )
        );
        assert!(text.contains("known are ") && text.contains("CartPole-v1"), "{text}");
    }

    #[test]
    fn made_environments_are_truncated_at_their_limit() {
        let mut env = EnvRegistry::with_builtin().make("CartPole-v1").unwrap();
        assert_eq!(env.spec().max_episode_steps, Some(500));
        let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
        let mut lengths = Vec::new();
        for seed in 0..2 {
            env.reset(Some(seed), observation.as_mut()).unwrap();
            let mut steps = 0;
            loop {
                // Pushing towards where the pole falls keeps it up for longer than the limit.
                let ObservationBuffer::F32(state) = &observation else { unreachable!() };
                let right = state[2] + 0.5 * state[3] + 0.02 * state[0] + 0.05 * state[1] > 0.0;
                let step = env.step(&[f32::from(right)], observation.as_mut()).unwrap();
                steps += 1;
                if step.done() {
                    assert!(step.truncated && !step.terminated);
                    break;
                }
            }
            lengths.push(steps);
            let after = env.step(&[0.0], observation.as_mut());
            assert!(matches!(after, Err(EnvError::ResetNeeded { .. })), "{after:?}");
        }
        assert_eq!(lengths, [500, 500]);
    }
}
