//! Classic control against traces and pictures of Gymnasium (`golden/classic_control.py`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::BTreeMap, io::Cursor};

use rl755_env::{
    Acrobot, CartPole, Env, EnvError, EnvRegistry, MountainCar, MountainCarContinuous,
    ObservationBuffer, Pendulum, RgbFrame,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

const IDS: [&str; 5] =
    [CartPole::ID, Pendulum::ID, MountainCar::ID, MountainCarContinuous::ID, Acrobot::ID];

/// By how much the golden pictures are shrunk.
const SHRINK: usize = 4;
/// The width of the golden pictures; narrower frames are followed by white.
const WIDTH: usize = 600 / SHRINK;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    options: BTreeMap<String, Value>,
    seed: u64,
    every: usize,
    actions: Actions,
    rewards: Vec<f64>,
    /// The steps that ended an episode, and how.
    ends: Vec<(usize, End)>,
    checks: Vec<Check>,
    /// Before which steps there is a picture.
    pictures: Vec<usize>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Actions {
    Discrete(String),
    Continuous(Vec<f32>),
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum End {
    Terminated,
    Truncated,
}

#[derive(Deserialize)]
struct Check {
    state: Vec<f64>,
    observation: Vec<f32>,
}

impl Case {
    /// Our id of the environment and its options.
    fn full_id(&self) -> String {
        if self.options.is_empty() {
            return self.id.clone();
        }
        let options = self.options.iter().map(|(key, value)| format!("{key}={value}"));
        format!("{}:{}", self.id, options.collect::<Vec<_>>().join(","))
    }

    /// The options as one of our configs.
    fn config<C: DeserializeOwned>(&self) -> C {
        serde_json::from_value(serde_json::to_value(&self.options).unwrap()).unwrap()
    }

    fn actions(&self) -> Vec<[f32; 1]> {
        match &self.actions {
            Actions::Discrete(digits) => digits.bytes().map(|b| [f32::from(b - b'0')]).collect(),
            Actions::Continuous(values) => values.iter().map(|value| [*value]).collect(),
        }
    }

    fn end(&self, step: usize) -> Option<End> {
        self.ends.iter().find(|(at, _)| *at == step).map(|(_, end)| *end)
    }
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/classic_control.json")).unwrap()
}

/// The cases of one environment are replayed, and states, rewards and terminal states compared.
#[track_caller]
fn check_states<E: Env, const N: usize>(
    id: &str,
    make: impl Fn(&Case) -> E,
    state: impl Fn(&E) -> [f64; N],
) {
    let mut replayed = 0;
    for case in golden().cases.iter().filter(|case| case.id == id) {
        let mut env = make(case);
        let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
        let mut checks = case.checks.iter();
        let mut check = |env: &E, observation: &ObservationBuffer, when: &str| {
            let (expected, ours) = (checks.next().unwrap(), state(env));
            let close = ours.iter().zip(&expected.state).all(|(a, b)| (a - b).abs() <= 1e-12);
            assert!(
                close && ours.len() == expected.state.len(),
                "{} seed {} {when}: {ours:?} instead of {:?}",
                case.full_id(),
                case.seed,
                expected.state
            );
            let ObservationBuffer::F32(ours) = observation else { panic!("floats are expected") };
            assert_eq!(ours.len(), expected.observation.len());
            // Acrobot's first sines and cosines are taken in single precision by Gymnasium.
            for (a, b) in ours.iter().zip(&expected.observation) {
                assert!((a - b).abs() <= 1e-7 * b.abs().max(1.0), "{when}: {a} instead of {b}");
            }
        };
        env.reset(Some(case.seed), observation.as_mut()).unwrap();
        check(&env, &observation, "after the first reset");
        for (index, action) in case.actions().iter().enumerate() {
            let step = env.step(action, observation.as_mut()).unwrap();
            let (when, end) = (format!("after step {index}"), case.end(index));
            let expected = case.rewards[index];
            assert!((step.reward - expected).abs() <= 1e-12, "{when}: {} {expected}", step.reward);
            assert_eq!(step.terminated, end == Some(End::Terminated), "{id} {when}");
            assert!(!step.truncated, "only the time limit truncates");
            if index < 10 || index % case.every == 0 || end.is_some() {
                check(&env, &observation, &when);
            }
            if end.is_some() {
                env.reset(None, observation.as_mut()).unwrap();
                check(&env, &observation, "after a reset without a seed");
            }
        }
        assert_eq!(checks.len(), 0);
        replayed += 1;
    }
    assert!(replayed > 0, "no case of {id}");
}

#[test]
fn cart_pole_moves_as_gymnasium_s() {
    check_states(CartPole::ID, |case| CartPole::with_config(case.config()), CartPole::state);
}

#[test]
fn pendulum_moves_as_gymnasium_s() {
    check_states(Pendulum::ID, |case| Pendulum::with_config(case.config()), Pendulum::state);
}

#[test]
fn mountain_car_moves_as_gymnasium_s() {
    let make = |case: &Case| MountainCar::with_config(case.config());
    check_states(MountainCar::ID, make, MountainCar::state);
}

#[test]
fn continuous_mountain_car_moves_as_gymnasium_s() {
    let make = |case: &Case| MountainCarContinuous::with_config(case.config());
    check_states(MountainCarContinuous::ID, make, MountainCarContinuous::state);
}

#[test]
fn acrobot_moves_as_gymnasium_s() {
    check_states(Acrobot::ID, |_| Acrobot::new(), Acrobot::state);
}

#[test]
fn registered_environments_take_options_and_end_where_gymnasium_s_do() {
    let registry = EnvRegistry::with_builtin();
    for case in golden().cases {
        let mut env = registry.make(&case.full_id()).unwrap();
        let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
        env.reset(Some(case.seed), observation.as_mut()).unwrap();
        for (index, action) in case.actions().iter().enumerate() {
            let step = env.step(action, observation.as_mut()).unwrap();
            assert!((step.reward - case.rewards[index]).abs() <= 1e-12);
            let end = match (step.terminated, step.truncated) {
                (false, false) => None,
                (true, false) => Some(End::Terminated),
                (false, true) => Some(End::Truncated),
                (true, true) => panic!("no episode of the traces ends both ways"),
            };
            assert_eq!(end, case.end(index), "{} step {index}", case.full_id());
            if end.is_some() {
                env.reset(None, observation.as_mut()).unwrap();
            }
        }
    }
}

#[test]
fn spaces_and_limits_are_gymnasium_s() {
    let expected = [
        ("CartPole-v1", "[4.8, inf, 0.41887903, inf]", "Discrete(2)", 500),
        ("Pendulum-v1", "[1, 1, 8]", "Box([-2], [2])", 200),
        ("MountainCar-v0", "[0.6, 0.07]", "Discrete(3)", 200),
        ("MountainCarContinuous-v0", "[0.6, 0.07]", "Box([-1], [1])", 999),
        ("Acrobot-v1", "[1, 1, 1, 1, 12.566371, 28.274334]", "Discrete(3)", 500),
    ];
    for (id, high, action, limit) in expected {
        let env = EnvRegistry::with_builtin().make(id).unwrap();
        let spec = env.spec();
        assert!(spec.observation_space.to_string().ends_with(&format!(", {high})")), "{spec:?}");
        assert_eq!(spec.action_space.to_string(), action);
        assert_eq!(spec.max_episode_steps, Some(limit));
    }
}

#[test]
fn options_change_the_rules_line_and_unknown_ones_are_refused() {
    let registry = EnvRegistry::with_builtin();
    let rules = |id: &str| registry.make(id).unwrap().spec().rules.clone();
    assert_eq!(
        rules("MountainCar-v0:goal_velocity=0.05"),
        "-1 per step; ends at position 0.5 or beyond with a velocity of at least 0.05"
    );
    assert!(rules("CartPole-v1:sutton_barto_reward=true").starts_with("0 per step, -1 for the"));
    for id in ["Acrobot-v1:g=9", "Pendulum-v1:gravity=9", "CartPole-v1:sutton_barto_reward=2"] {
        assert!(matches!(registry.make(id), Err(EnvError::Options { .. })), "{id}");
    }
}

/// Gymnasium's pictures, one above another, and the rows of each.
fn golden_pictures() -> Vec<u8> {
    let bytes = include_bytes!("golden/classic_control.png");
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    assert_eq!(info.width as usize, WIDTH);
    pixels
}

/// A picture shrunk by means, as wide as the golden ones.
fn shrunk(frame: &RgbFrame) -> Vec<f64> {
    let (height, width) = (frame.height / SHRINK, frame.width / SHRINK);
    let mut small = vec![255.0; height * WIDTH * 3];
    for row in 0..height {
        for column in 0..width {
            for channel in 0..3 {
                let mut sum = 0.0;
                for y in row * SHRINK..(row + 1) * SHRINK {
                    for x in column * SHRINK..(column + 1) * SHRINK {
                        sum += f64::from(frame.pixels[3 * (y * frame.width + x) + channel]);
                    }
                }
                small[3 * (row * WIDTH + column) + channel] = sum / (SHRINK * SHRINK) as f64;
            }
        }
    }
    small
}

/// Our pictures where the golden traces have one: of which environment, before which step.
fn our_pictures() -> Vec<(String, RgbFrame)> {
    let mut pictures = Vec::new();
    for case in golden().cases {
        let mut env = EnvRegistry::with_builtin().make(&case.full_id()).unwrap();
        let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
        env.reset(Some(case.seed), observation.as_mut()).unwrap();
        for (index, action) in case.actions().iter().enumerate() {
            if case.pictures.contains(&index) {
                let name = format!("{} seed {} step {index}", case.full_id(), case.seed);
                pictures.push((name, env.render().unwrap().unwrap()));
            }
            if env.step(action, observation.as_mut()).unwrap().done() {
                env.reset(None, observation.as_mut()).unwrap();
            }
        }
    }
    pictures
}

/// The mean difference of what is drawn in either picture, in levels of 255: nearly all of a picture
/// is white, and would hide what is wrong in the rest.
fn difference(ours: &[f64], theirs: &[u8]) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for (a, b) in ours.chunks(3).zip(theirs.chunks(3)) {
        if a.iter().any(|v| *v < 254.5) || b.iter().any(|v| *v < 255) {
            sum += a.iter().zip(b).map(|(a, b)| (a - f64::from(*b)).abs()).sum::<f64>() / 3.0;
            count += 1;
        }
    }
    sum / f64::from(count)
}

/// A picture moved to the right, onto itself.
fn moved(frame: &RgbFrame, pixels: usize) -> RgbFrame {
    let mut moved = frame.clone();
    for row in moved.pixels.chunks_mut(3 * frame.width) {
        row.rotate_right(3 * pixels);
    }
    moved
}

#[test]
fn pictures_look_like_gymnasium_s() {
    let golden = golden_pictures();
    let mut rest = golden.as_slice();
    for (name, frame) in our_pictures() {
        let (theirs, others) = rest.split_at(shrunk(&frame).len());
        rest = others;
        let [same, off_by_two] = [0, 2].map(|by| difference(&shrunk(&moved(&frame, by)), theirs));
        assert!(same < 5.0, "{name} is off by {same}");
        assert!(
            off_by_two > 5.0 * same,
            "{name}: two pixels to the right it is off by {off_by_two}"
        );
    }
    assert!(rest.is_empty());
}

#[test]
fn no_actions_break_an_environment() {
    let wild = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0];
    for id in IDS {
        let mut env = EnvRegistry::with_builtin().make(id).unwrap();
        let (space, actions) =
            (env.spec().observation_space.clone(), env.spec().action_space.clone());
        let mut observation = ObservationBuffer::zeros(&space, 1);
        env.reset(Some(3), observation.as_mut()).unwrap();
        // A small generator: the actions need only be mixed.
        let mut random = 1_u32;
        for _ in 0..3000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let action = [wild[(random >> 16) as usize % wild.len()]];
            match env.step(&action, observation.as_mut()) {
                Ok(step) => {
                    assert!(actions.contains(&action), "{id} took {action:?}");
                    assert!(step.reward.is_finite());
                    space.check_observation(observation.as_ref()).unwrap();
                    if step.done() {
                        env.reset(None, observation.as_mut()).unwrap();
                    }
                }
                Err(EnvError::InvalidAction { .. }) => assert!(!actions.contains(&action)),
                Err(other) => panic!("{id}: {other}"),
            }
        }
    }
}

#[test]
fn pictures_need_a_reset_and_outlive_the_episode() {
    for id in IDS {
        let mut env = EnvRegistry::with_builtin().make(id).unwrap();
        assert!(matches!(env.render(), Err(EnvError::ResetNeeded { .. })), "{id}");
        let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
        env.reset(Some(1), observation.as_mut()).unwrap();
        while !env.step(&[0.0], observation.as_mut()).unwrap().done() {}
        let frame = env.render().unwrap().unwrap();
        assert_eq!(frame.pixels.len(), 3 * frame.height * frame.width);
        assert_eq!(frame, env.render().unwrap().unwrap(), "{id}: drawing changes nothing");
    }
}
