//! Policies that rollouts are collected with, by name.

use std::{collections::BTreeMap, fmt, sync::Arc};

use rl755_env::{ObservationRef, Space};
use rl755_run::UnknownName;

use crate::collect::policies::{Brownian, Repeated, Smooth, Uniform};

/// Chooses actions in one episode.
pub trait Policy: Send {
    /// Writes the action to take on `observation`, a value of the action space, into `action`.
    fn act(&mut self, observation: ObservationRef<'_>, action: &mut [f32]);
}

/// A policy could not be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// No policy of that name is registered.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The policy cannot act in this environment.
    #[error("the policy cannot act in this environment: {reason}")]
    Unsuitable {
        /// Why not.
        reason: String,
    },
    /// Anything a policy of another crate reports.
    #[error("the policy could not be made: {0}")]
    Other(String),
}

/// Makes the policy of one episode from the action space and a seed.
type Factory = Arc<dyn Fn(&Space, u64) -> Result<Box<dyn Policy>, PolicyError> + Send + Sync>;

/// The policies a program knows, by name.
///
/// ```
/// use rl755_data::{Policy, PolicyRegistry};
/// use rl755_env::{ObservationRef, Space};
///
/// struct Still;
///
/// impl Policy for Still {
///     fn act(&mut self, _: ObservationRef<'_>, action: &mut [f32]) {
///         action.fill(0.0);
///     }
/// }
///
/// let mut policies = PolicyRegistry::with_builtin();
/// policies.add("still", |_: &Space, _seed| Ok(Box::new(Still)));
/// assert_eq!(policies.names(), ["brownian", "repeated", "smooth", "still", "uniform"]);
/// ```
#[derive(Clone, Default)]
pub struct PolicyRegistry {
    factories: BTreeMap<String, Factory>,
}

impl PolicyRegistry {
    /// A registry that knows this crate's policies: `uniform`, `smooth`, `brownian`, `repeated`.
    pub fn with_builtin() -> Self {
        let mut registry = Self::default();
        registry.add("uniform", |space, seed| Ok(Box::new(Uniform::new(space, seed))));
        registry.add("smooth", |space, seed| Ok(Box::new(Smooth::new(space, seed)?)));
        registry.add("brownian", |space, seed| Ok(Box::new(Brownian::new(space, seed)?)));
        registry.add("repeated", |space, seed| Ok(Box::new(Repeated::new(space, seed))));
        registry
    }

    /// Registers `factory` under `name`, replacing what was there. It is called for every
    /// episode, from several threads; equal seeds must give equal policies.
    pub fn add<F>(&mut self, name: &str, factory: F)
    where
        F: Fn(&Space, u64) -> Result<Box<dyn Policy>, PolicyError> + Send + Sync + 'static,
    {
        self.factories.insert(name.to_owned(), Arc::new(factory));
    }

    /// Every registered name, sorted.
    pub fn names(&self) -> Vec<String> {
        self.factories.keys().cloned().collect()
    }

    /// Makes the policy called `name` for one episode in an environment with `action_space`.
    ///
    /// # Errors
    /// When no such name is registered (naming the nearest), or the policy cannot be made.
    pub fn make(
        &self,
        name: &str,
        action_space: &Space,
        seed: u64,
    ) -> Result<Box<dyn Policy>, PolicyError> {
        let factory = self
            .factories
            .get(name)
            .ok_or_else(|| UnknownName::new("policy", name, self.names()))?;
        factory(action_space, seed)
    }
}

impl fmt::Debug for PolicyRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.factories.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spaces() -> [Space; 4] {
        let inf = f32::INFINITY;
        [
            Space::Box { low: vec![-1.0, 0.0, 0.0], high: vec![1.0; 3] },
            Space::Box { low: vec![-0.1, -inf, 3.0], high: vec![0.1, inf, inf] },
            Space::Discrete { n: 3 },
            Space::Discrete { n: 1 },
        ]
    }

    fn actions(name: &str, space: &Space, seed: u64, count: usize) -> Vec<Vec<f32>> {
        let mut policy = PolicyRegistry::with_builtin().make(name, space, seed).unwrap();
        let mut action = vec![f32::NAN; space.width()];
        (0..count)
            .map(|_| {
                policy.act(ObservationRef::F32(&[]), &mut action);
                action.clone()
            })
            .collect()
    }

    #[test]
    fn every_policy_acts_within_every_space() {
        for name in PolicyRegistry::with_builtin().names() {
            for space in spaces() {
                for action in actions(&name, &space, 1, 500) {
                    assert!(space.contains(&action), "{name}: {action:?}");
                }
            }
        }
    }

    #[test]
    fn every_policy_follows_its_seed_and_moves() {
        for name in PolicyRegistry::with_builtin().names() {
            for space in &spaces()[..3] {
                let first = actions(&name, space, 1, 300);
                assert_eq!(first, actions(&name, space, 1, 300), "{name}");
                assert_ne!(first, actions(&name, space, 2, 300), "{name}");
                assert!(first.iter().any(|a| *a != first[0]), "{name} never moves in {space:?}");
            }
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let space = Space::Discrete { n: 2 };
        let error =
            PolicyRegistry::with_builtin().make("smoth", &space, 0).map(|_| ()).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("did you mean `smooth`?") && text.contains("brownian"), "{text}");
    }

    #[test]
    fn repeated_actions_are_held_for_one_to_ten_steps() {
        let space = Space::Box { low: vec![0.0], high: vec![1.0] };
        let mut lengths = vec![1];
        let all = actions("repeated", &space, 3, 20_000);
        for pair in all.windows(2) {
            if pair[0] == pair[1] {
                *lengths.last_mut().unwrap() += 1;
            } else {
                lengths.push(1);
            }
        }
        lengths.pop();
        for length in 1..=10 {
            assert!(lengths.contains(&length), "no action is held for {length} steps");
        }
        assert_eq!(lengths.iter().max(), Some(&10));
    }

    #[test]
    fn brownian_steps_have_the_variance_of_their_time_step() {
        let space = Space::Box { low: vec![-1e6], high: vec![1e6] };
        let scale = 1e6;
        let all = actions("brownian", &space, 5, 2000);
        // Far from the bounds most of the time; steps that met one are left out.
        let steps: Vec<f64> = all
            .windows(2)
            .filter(|p| p[1][0].abs() < 1e6 && p[0][0].abs() < 1e6)
            .map(|p| f64::from(p[1][0] - p[0][0]) / scale)
            .collect();
        let variance = steps.iter().map(|s| s * s).sum::<f64>() / steps.len() as f64;
        assert!(steps.len() > 1000 && (variance * 50.0 - 1.0).abs() < 0.15, "{variance}");
    }

    #[test]
    fn smooth_actions_move_little_from_step_to_step() {
        let space = &spaces()[0];
        let all = actions("smooth", space, 7, 1000);
        let largest = all
            .windows(2)
            .flat_map(|p| p[0].iter().zip(&p[1]).map(|(a, b)| (a - b).abs()).collect::<Vec<_>>())
            .fold(0.0, f32::max);
        // The steepest octave: 1.7 * 0.4 * 8 (gradient) * 1.2 a unit, and a step is 1/200.
        assert!(largest < 0.2, "{largest}");
        let steer: Vec<f32> = all.iter().map(|a| a[0]).collect();
        assert!(steer.iter().any(|&s| s > 0.2) && steer.iter().any(|&s| s < -0.2));
    }
}
