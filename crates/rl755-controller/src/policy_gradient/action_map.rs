//! From the numbers that a policy chooses to the actions that an environment takes.

use rl755_env::Space;

use super::distribution::Distribution;

/// How a policy's action becomes one of the environment's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ActionMap {
    /// -1 and 1 are the bounds of each element, and what is beyond is clipped (as rllab's
    /// `normalize`); an element without bounds on both sides is taken as it is.
    Bounds {
        /// Least value and greatest value of each element.
        bounds: Vec<(f64, f64)>,
    },
    /// The index of a choice.
    Choice {
        /// How many there are.
        choices: usize,
    },
}

impl ActionMap {
    /// Into `space`; `None` for frames, and where there is nothing to choose.
    pub(crate) fn new(space: &Space) -> Option<Self> {
        match space {
            Space::Box { low, high } if !low.is_empty() => {
                let bounds = low.iter().zip(high);
                let bounds =
                    bounds.map(|(low, high)| (f64::from(*low), f64::from(*high))).collect();
                Some(Self::Bounds { bounds })
            }
            Space::Discrete { n } if *n > 0 => Some(Self::Choice { choices: *n }),
            _ => None,
        }
    }

    /// The distribution of a policy that acts through this.
    pub(crate) fn distribution(&self) -> Distribution {
        match self {
            Self::Bounds { bounds } => Distribution::Gaussian { size: bounds.len() },
            Self::Choice { choices } => Distribution::Categorical { choices: *choices },
        }
    }

    /// Writes the environment's action for that of the policy.
    pub(crate) fn apply(&self, action: &[f64], to: &mut [f32]) {
        match self {
            Self::Bounds { bounds } => {
                for ((to, action), &(low, high)) in to.iter_mut().zip(action).zip(bounds) {
                    let width = high - low;
                    let scaled = if width.is_finite() {
                        low + (action + 1.0) / 2.0 * width
                    } else {
                        *action
                    };
                    *to = scaled.clamp(low, high) as f32;
                }
            }
            Self::Choice { .. } => to[0] = action[0] as f32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_scaled_to_the_bounds_and_clipped() {
        let inf = f32::INFINITY;
        let space = Space::Box { low: vec![-2.0, 0.0, -inf, 1.0], high: vec![2.0, 1.0, inf, inf] };
        let map = ActionMap::new(&space).unwrap();
        let check = |action: f64, expected: [f32; 4]| {
            let mut found = [f32::NAN; 4];
            map.apply(&[action; 4], &mut found);
            assert_eq!(found, expected, "{action}");
        };
        check(-1.0, [-2.0, 0.0, -1.0, 1.0]);
        check(0.0, [0.0, 0.5, 0.0, 1.0]);
        check(0.5, [1.0, 0.75, 0.5, 1.0]);
        check(3.0, [2.0, 1.0, 3.0, 3.0]);
        check(-1e300, [-2.0, 0.0, -inf, 1.0]);
    }
}
