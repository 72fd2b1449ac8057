//! Finding mistakes in an environment, for those who write one.

use std::fmt;

use rand_core::SeedableRng;
use rand_pcg::Pcg64Mcg;

use crate::{Env, EnvError, EnvSpec, ObservationBuffer, ObservationMut, Space, Step};

/// Steps per episode after which the checks stop waiting for its end.
const STEPS: u32 = 1000;

/// One mistake, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong, with the numbers that show it.
    pub problem: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem, self.remedy)
    }
}

/// Everything that [`check_env`] found.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{id} fails {} checks:{}", findings.len(),
    findings.iter().map(|finding| format!("\n- {finding}")).collect::<String>())]
pub struct CheckError {
    /// The environment's id.
    pub id: String,
    /// At least one.
    pub findings: Vec<Finding>,
}

/// As it is displayed: `check_env(&mut env).unwrap()` in a test shows the list.
impl fmt::Debug for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Checks that a newly made environment keeps the promises of [`Env`], with random actions.
///
/// Checked are the spec; that `step` is refused before the first reset and after an episode's end;
/// that wrong buffers and actions outside the action space are refused, and those at its bounds
/// taken; that observations are finite and in their space, and rewards finite; that an episode
/// does not outlast the spec's limit by its own count; and that the same seed and actions give the
/// same episode, bit for bit.
///
/// ```
/// rl755_env::check_env(&mut rl755_env::CartPole::new())?;
/// # Ok::<(), rl755_env::CheckError>(())
/// ```
///
/// # Errors
/// When something is wrong: all of it, each with a remedy.
pub fn check_env(env: &mut dyn Env) -> Result<(), CheckError> {
    let spec = env.spec().clone();
    let mut check = Check::new(env, spec.clone());
    if check.spec_is_sound() {
        check.refuses_step_before_reset();
        check.refuses_wrong_buffers();
        check.refuses_invalid_actions();
        check.takes_actions_at_the_bounds();
        let first = check.episode(7);
        let again = check.episode(7);
        if first != again {
            check.find(
                "reset with the same seed and the same actions gave another episode",
                "draw everything random from a generator that reset seeds, and clear all state",
            );
        }
    }
    match check.findings {
        findings if findings.is_empty() => Ok(()),
        findings => Err(CheckError { id: spec.id, findings }),
    }
}

struct Check<'a> {
    env: &'a mut dyn Env,
    spec: EnvSpec,
    observation: ObservationBuffer,
    findings: Vec<Finding>,
}

/// What an episode gave, for comparison bit by bit.
#[derive(PartialEq)]
struct Trace {
    steps: Vec<(u64, bool, bool)>,
    observations: u64,
}

impl<'a> Check<'a> {
    fn new(env: &'a mut dyn Env, spec: EnvSpec) -> Self {
        let observation = ObservationBuffer::zeros(&spec.observation_space, 1);
        Self { env, spec, observation, findings: Vec::new() }
    }

    /// Notes a mistake, once.
    fn find(&mut self, problem: impl Into<String>, remedy: &str) {
        let finding = Finding { problem: problem.into(), remedy: remedy.to_owned() };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    fn reset(&mut self, seed: u64) -> bool {
        let result = self.env.reset(Some(seed), self.observation.as_mut());
        if let Err(error) = &result {
            self.find(
                format!("reset(Some({seed})) failed: {error}"),
                "let reset take any seed and a buffer of the observation space's width",
            );
        }
        result.is_ok()
    }

    fn step(&mut self, action: &[f32]) -> Result<Step, EnvError> {
        self.env.step(action, self.observation.as_mut())
    }

    /// Whether the spaces make sense, without which nothing else can be checked.
    fn spec_is_sound(&mut self) -> bool {
        let id = self.spec.id.clone();
        let version = id.rsplit_once("-v").map(|(_, version)| version);
        if !version.is_some_and(|v| !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit())) {
            self.find(
                format!("the id `{id}` has no version"),
                "end it in -v and a number that changes whenever scores change",
            );
        }
        if self.spec.rules.trim().is_empty() {
            self.find(
                "the spec's rules are empty",
                "say in one line what is rewarded and when an episode ends",
            );
        }
        if self.spec.max_episode_steps == Some(0) {
            self.find("max_episode_steps is 0", "use None where there is no limit");
        }
        let spaces = [
            ("observation", self.spec.observation_space.clone()),
            ("action", self.spec.action_space.clone()),
        ];
        let mut sound = true;
        for (which, space) in spaces {
            if let Some(problem) = space_problem(&space) {
                self.find(
                    format!("the {which} space {space} {problem}"),
                    "give every element a least value that is at most its greatest value",
                );
                sound = false;
            }
        }
        if matches!(self.spec.action_space, Space::Image { .. }) {
            self.find("actions are images", "make them a Box or Discrete");
            sound = false;
        }
        sound
    }

    fn refuses_step_before_reset(&mut self) {
        let action = self.middle_action();
        if !matches!(self.step(&action), Err(EnvError::ResetNeeded { .. })) {
            self.find(
                "step before the first reset was not refused with EnvError::ResetNeeded",
                "return EnvSpec::not_reset until reset was called (and check a new environment)",
            );
        }
    }

    fn refuses_wrong_buffers(&mut self) {
        let width = self.spec.observation_space.width();
        let (mut bytes, mut floats) = (vec![0; width + 1], vec![0.0; width + 1]);
        let (right, wrong) = match self.observation {
            ObservationBuffer::U8(_) => {
                (ObservationMut::U8(&mut bytes), ObservationMut::F32(&mut floats[..width]))
            }
            ObservationBuffer::F32(_) => {
                (ObservationMut::F32(&mut floats), ObservationMut::U8(&mut bytes[..width]))
            }
        };
        let too_long = self.env.reset(Some(0), right);
        let other_type = self.env.reset(Some(0), wrong);
        for (result, what) in [(too_long, "one element too many"), (other_type, "another type")] {
            if !matches!(result, Err(EnvError::ObservationBuffer { .. })) {
                self.find(
                    format!("an observation buffer with {what} was not refused"),
                    "take the buffer through ObservationMut::bytes or ObservationMut::floats",
                );
            }
        }
    }

    fn refuses_invalid_actions(&mut self) {
        for action in invalid_actions(&self.spec.action_space, &self.middle_action()) {
            if !self.reset(0) {
                return;
            }
            if !matches!(self.step(&action), Err(EnvError::InvalidAction { .. })) {
                self.find(
                    format!("the invalid action {action:?} was not refused"),
                    "begin step with EnvSpec::check_action",
                );
            }
        }
    }

    fn takes_actions_at_the_bounds(&mut self) {
        let space = self.spec.action_space.clone();
        let bounds: Vec<_> = (0..space.width()).map(|index| space.bounds(index)).collect();
        let low: Vec<f32> = bounds.iter().map(|b| b.0).collect();
        let high: Vec<f32> = bounds.iter().map(|b| b.1).collect();
        for action in [low, high] {
            if action.iter().any(|v| v.is_infinite()) || !self.reset(0) {
                continue;
            }
            if let Err(error) = self.step(&action) {
                self.find(
                    format!("step failed with the valid action {action:?}: {error}"),
                    "let step take every action of the action space, its bounds included",
                );
            }
        }
    }

    /// Plays one episode, or its first steps.
    fn episode(&mut self, seed: u64) -> Trace {
        let mut trace = Trace { steps: Vec::new(), observations: 0 };
        // A sign of life in the buffer shows an environment that does not fill it.
        match &mut self.observation {
            ObservationBuffer::U8(_) => {}
            ObservationBuffer::F32(values) => values.fill(f32::NAN),
        }
        if !self.reset(seed) {
            return trace;
        }
        self.look(&mut trace, "reset");
        let space = self.spec.action_space.clone();
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let mut action = vec![0.0; space.width()];
        for _ in 0..self.spec.max_episode_steps.unwrap_or(STEPS).min(STEPS) {
            space.sample(&mut rng, &mut action);
            let step = match self.step(&action) {
                Ok(step) => step,
                Err(error) => {
                    self.find(
                        format!("step failed with the valid action {action:?}: {error}"),
                        "let step take every action of the action space until the episode ends",
                    );
                    return trace;
                }
            };
            self.look(&mut trace, "step");
            trace.steps.push((step.reward.to_bits(), step.terminated, step.truncated));
            if !step.reward.is_finite() {
                self.find(
                    format!("a reward was {}", step.reward),
                    "look for a division by zero or an overflow",
                );
            }
            if step.done() {
                if !matches!(self.step(&action), Err(EnvError::ResetNeeded { .. })) {
                    self.find(
                        "step after the end of an episode was not refused",
                        "return EnvSpec::episode_over until the next reset",
                    );
                }
                return trace;
            }
        }
        trace
    }

    /// Checks the observation that was just written, and adds it to the trace.
    fn look(&mut self, trace: &mut Trace, after: &str) {
        if let Err(error) = self.spec.observation_space.check_observation(self.observation.as_ref())
        {
            self.find(
                format!("an observation after {after} is not in its space: {error}"),
                "widen the observation space, or look for values that are not finite or not written",
            );
        } else if let ObservationBuffer::F32(values) = &self.observation
            && let Some(index) = values.iter().position(|v| !v.is_finite())
        {
            self.find(
                format!("element {index} of an observation after {after} is {}", values[index]),
                "look for a division by zero or an overflow",
            );
        }
        let bits: &mut dyn Iterator<Item = u32> = match &self.observation {
            ObservationBuffer::U8(v) => &mut v.iter().map(|&byte| u32::from(byte)),
            ObservationBuffer::F32(v) => &mut v.iter().map(|value| value.to_bits()),
        };
        // Fowler, Noll and Vo's hash: the traces must not hold a thousand frames.
        trace.observations = bits.fold(trace.observations ^ 0xcbf2_9ce4_8422_2325, |hash, word| {
            (hash ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3)
        });
    }

    /// An action well inside the space.
    fn middle_action(&self) -> Vec<f32> {
        let space = &self.spec.action_space;
        (0..space.width())
            .map(|index| match (space, space.bounds(index)) {
                (Space::Box { .. }, (low, high)) if low.is_finite() && high.is_finite() => {
                    low + (high - low) / 2.0
                }
                (Space::Box { .. }, (low, high)) => 0f32.clamp(low, high),
                _ => 0.0,
            })
            .collect()
    }
}

/// What makes a space senseless.
fn space_problem(space: &Space) -> Option<String> {
    if space.width() == 0 || matches!(space, Space::Discrete { n: 0 }) {
        return Some("is empty".to_owned());
    }
    let Space::Box { low, high } = space else { return None };
    if low.len() != high.len() {
        return Some(format!("has {} low and {} high bounds", low.len(), high.len()));
    }
    let index = low.iter().zip(high).position(|(l, h)| l.is_nan() || h.is_nan() || l > h)?;
    Some(format!("has no value for element {index}"))
}

/// Actions that a space does not contain: of another width, not a number, out of bounds.
fn invalid_actions(space: &Space, valid: &[f32]) -> Vec<Vec<f32>> {
    let mut actions = vec![valid[1..].to_vec(), [valid, &[0.0]].concat()];
    for index in 0..valid.len() {
        let (low, high) = space.bounds(index);
        let mut wrong = vec![f32::NAN];
        wrong.extend(high.is_finite().then_some(high + high.abs().max(1.0)));
        wrong.extend(low.is_finite().then_some(low - low.abs().max(1.0)));
        wrong.extend(matches!(space, Space::Discrete { .. }).then_some(0.5));
        for value in wrong {
            let mut action = valid.to_vec();
            action[index] = value;
            actions.push(action);
        }
    }
    actions
}
