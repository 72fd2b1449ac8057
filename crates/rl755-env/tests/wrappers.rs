//! Wrappers against traces of Gymnasium's own (`golden/wrappers.py`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::mpsc;

use rl755_env::{
    Env, EnvError, EnvRegistry, EnvSpec, ObservationBuffer, ObservationMut, RgbFrame, Space, Step,
    check_env,
    wrappers::{
        ClipReward, FrameStackObservation, GrayscaleObservation, RecordEpisodeStatistics,
        RecordFrames, RecordedFrame, RepeatAction, ResizeObservation, ScaleReward, TimeLimit,
    },
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    cartpole: Vec<Play<Vec<f32>>>,
    pattern: Vec<Play<String>>,
    statistics: Vec<(f64, u32)>,
    films: Vec<(String, Vec<String>)>,
    every_grey: String,
    resized: Vec<Resized>,
}

/// A small frame of the pattern in another size.
#[derive(Deserialize)]
struct Resized {
    from: [usize; 2],
    to: [usize; 2],
    levels: Vec<u8>,
}

/// Two episodes of a stack of wrappers, the second without a seed.
#[derive(Deserialize)]
struct Play<O> {
    stack: String,
    seed: u64,
    actions: [String; 2],
    steps: Vec<(f64, bool, bool)>,
    observations: Vec<O>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/wrappers.json")).unwrap()
}

fn fnv(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |s, b| (s ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", fnv(0xcbf2_9ce4_8422_2325, bytes))
}

/// Frames that look like noise; an episode ends with its 9th step.
#[derive(Debug)]
struct Pattern {
    spec: EnvSpec,
    seed: u64,
    time: Option<u32>,
}

const PATTERN_STEPS: u32 = 9;

impl Pattern {
    fn new(height: usize, width: usize) -> Self {
        let spec = EnvSpec {
            id: "Pattern-v0".to_owned(),
            observation_space: Space::Image { height, width, channels: 3 },
            action_space: Space::Discrete { n: 3 },
            max_episode_steps: None,
            rules: "ends with the 9th step".to_owned(),
        };
        Self { spec, seed: 0, time: None }
    }

    fn draw(&self, frame: &mut [u8]) {
        let (time, seed) = (self.time.unwrap(), self.seed as u32);
        for (i, byte) in (0u32..).zip(frame) {
            let mixed = i.wrapping_mul(i).wrapping_mul(31);
            let mixed = mixed.wrapping_add(i.wrapping_mul(17).wrapping_mul(time + 1));
            *byte = (mixed.wrapping_add(seed.wrapping_mul(101)) >> 7) as u8;
        }
    }
}

impl Env for Pattern {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, out: ObservationMut<'_>) -> Result<(), EnvError> {
        let frame = out.bytes(&self.spec)?;
        self.seed = seed.unwrap_or(self.seed + 1);
        self.time = Some(0);
        self.draw(frame);
        Ok(())
    }

    fn step(&mut self, action: &[f32], out: ObservationMut<'_>) -> Result<Step, EnvError> {
        let time = self.time.ok_or_else(|| self.spec.not_reset())?;
        if time == PATTERN_STEPS {
            return Err(self.spec.episode_over());
        }
        self.spec.check_action(action)?;
        let frame = out.bytes(&self.spec)?;
        let time = time + 1;
        self.time = Some(time);
        self.draw(frame);
        let points = (u64::from(time) * 7 + self.seed + action[0] as u64) % 11;
        let reward = (points as f64 - 5.0) / 4.0;
        Ok(Step { reward, terminated: time == PATTERN_STEPS, truncated: false })
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        let &Space::Image { height, width, .. } = &self.spec.observation_space else {
            unreachable!()
        };
        let mut frame = vec![0; height * width * 3];
        self.draw(&mut frame);
        let rows = frame.chunks_exact(width * 3).step_by(2);
        let pixels = rows.flat_map(|row| row.chunks_exact(3).step_by(2).flatten().copied());
        Ok(Some(RgbFrame { height: height / 2, width: width / 2, pixels: pixels.collect() }))
    }
}

fn cartpole() -> Box<dyn Env> {
    EnvRegistry::with_builtin().make("CartPole-v1").unwrap()
}

fn pattern() -> Pattern {
    Pattern::new(96, 96)
}

/// The stack that golden/wrappers.py calls `name`.
fn build(name: &str) -> Box<dyn Env> {
    match name {
        "time_limit" => Box::new(TimeLimit::new(cartpole(), 7)),
        "frame_stack" => Box::new(FrameStackObservation::new(cartpole(), 3).unwrap()),
        "repeat_action" => Box::new(RepeatAction::new(cartpole(), 3).unwrap()),
        "scale_reward" => Box::new(ScaleReward::new(cartpole(), 0.1).unwrap()),
        "clip_reward" => Box::new(ClipReward::new(cartpole(), f64::NEG_INFINITY, 0.25).unwrap()),
        "limit, repeat, scale, stack" => {
            let env = RepeatAction::new(TimeLimit::new(cartpole(), 9), 2).unwrap();
            let env = ScaleReward::new(env, 0.3).unwrap();
            Box::new(FrameStackObservation::new(env, 2).unwrap())
        }
        "stack, stack, clip, repeat" => {
            let env = FrameStackObservation::new(cartpole(), 2).unwrap();
            let env = FrameStackObservation::new(env, 2).unwrap();
            let env = ClipReward::new(env, -1.0, 0.7).unwrap();
            Box::new(RepeatAction::new(env, 3).unwrap())
        }
        other => panic!("{other} is not built over CartPole"),
    }
}

/// The same over frames.
fn build_frames(name: &str) -> Box<dyn Env> {
    let resize = |height, width| ResizeObservation::new(pattern(), [height, width]).unwrap();
    match name {
        "resize 64" => Box::new(resize(64, 64)),
        "resize 84" => Box::new(resize(84, 84)),
        "resize 48" => Box::new(resize(48, 48)),
        "resize 32 by 24" => Box::new(resize(32, 24)),
        "resize same" => Box::new(resize(96, 96)),
        "resize large" => {
            Box::new(ResizeObservation::new(Pattern::new(400, 600), [64, 64]).unwrap())
        }
        "grayscale" => Box::new(GrayscaleObservation::new(pattern()).unwrap()),
        "frame_stack" => Box::new(FrameStackObservation::new(pattern(), 4).unwrap()),
        "clip_reward" => Box::new(ClipReward::new(pattern(), -0.5, 0.75).unwrap()),
        "gray, resize, stack" => {
            let env = GrayscaleObservation::new(pattern()).unwrap();
            let env = ResizeObservation::new(env, [64, 64]).unwrap();
            Box::new(FrameStackObservation::new(env, 4).unwrap())
        }
        "resize, gray, repeat" => {
            let env = GrayscaleObservation::new(resize(64, 64)).unwrap();
            Box::new(RepeatAction::new(env, 2).unwrap())
        }
        "repeat, stack, limit" => {
            let env = RepeatAction::new(pattern(), 2).unwrap();
            Box::new(TimeLimit::new(FrameStackObservation::new(env, 2).unwrap(), 4))
        }
        other => panic!("{other} is not built over frames"),
    }
}

/// Plays the recorded actions; `same` compares our observation with theirs.
#[track_caller]
fn replay<O>(env: &mut dyn Env, play: &Play<O>, same: impl Fn(&ObservationBuffer, &O, &str)) {
    let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
    let (mut observations, mut steps) = (play.observations.iter(), play.steps.iter());
    for (actions, seed) in play.actions.iter().zip([Some(play.seed), None]) {
        env.reset(seed, observation.as_mut()).unwrap();
        same(&observation, observations.next().unwrap(), &format!("{}: reset", play.stack));
        for (time, action) in actions.bytes().enumerate() {
            let what = format!("{}: step {time} of {}", play.stack, actions.len());
            let step = env.step(&[f32::from(action - b'0')], observation.as_mut()).unwrap();
            same(&observation, observations.next().unwrap(), &what);
            let ours = (step.reward, step.terminated, step.truncated);
            assert_eq!(ours, *steps.next().unwrap(), "{what}");
        }
    }
    assert_eq!((observations.len(), steps.len()), (0, 0));
}

#[test]
fn wrapped_cartpoles_are_gymnasium_s() {
    for play in golden().cartpole {
        replay(&mut build(&play.stack), &play, |ours, theirs, what| {
            let ObservationBuffer::F32(ours) = ours else { panic!("{what}: not floats") };
            assert_eq!(ours.len(), theirs.len(), "{what}");
            let close = ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() <= 1e-6);
            assert!(close, "{what}: {ours:?} instead of {theirs:?}");
        });
    }
}

#[test]
fn wrapped_frames_are_gymnasium_s_byte_for_byte() {
    for play in golden().pattern {
        let mut env = build_frames(&play.stack);
        replay(&mut env, &play, |ours, theirs, what| {
            let ObservationBuffer::U8(ours) = ours else { panic!("{what}: not bytes") };
            assert_eq!(&hash(ours), theirs, "{what}");
        });
    }
}

#[test]
fn frames_of_any_size_are_within_a_level_of_gymnasium_s() {
    for Resized { from, to, levels } in golden().resized {
        let mut env = ResizeObservation::new(Pattern::new(from[0], from[1]), to).unwrap();
        let mut ours = vec![0; levels.len()];
        env.reset(Some(5), ObservationMut::U8(&mut ours)).unwrap();
        let differences: Vec<u8> = ours.iter().zip(&levels).map(|(a, b)| a.abs_diff(*b)).collect();
        assert!(differences.iter().all(|&d| d <= 1), "{from:?} to {to:?}: {differences:?}");
        // OpenCV rounds its weights where frames grow, and halves by chance where they shrink.
        let allowed = if to[0] > from[0] { levels.len() / 5 } else { levels.len() / 50 };
        let differing = differences.iter().filter(|&&d| d > 0).count();
        assert!(differing <= allowed, "{from:?} to {to:?}: {differing} of {}", levels.len());
    }
}

/// Shows every colour: red by the step, green from top to bottom, blue from left to right.
struct EveryColor(EnvSpec, u8);

impl Env for EveryColor {
    fn spec(&self) -> &EnvSpec {
        &self.0
    }

    fn reset(&mut self, _: Option<u64>, out: ObservationMut<'_>) -> Result<(), EnvError> {
        let pixels = out.bytes(&self.0)?.as_chunks_mut::<3>().0;
        for (index, pixel) in pixels.iter_mut().enumerate() {
            *pixel = [self.1, (index >> 8) as u8, index as u8];
        }
        Ok(())
    }

    fn step(&mut self, _: &[f32], out: ObservationMut<'_>) -> Result<Step, EnvError> {
        self.1 += 1;
        self.reset(None, out)?;
        Ok(Step::default())
    }
}

#[test]
fn every_colour_turns_into_gymnasium_s_grey() {
    let spec = Pattern::new(256, 256).spec;
    let mut env = GrayscaleObservation::new(EveryColor(spec, 0)).unwrap();
    let mut grey = vec![0; 256 * 256];
    env.reset(None, ObservationMut::U8(&mut grey)).unwrap();
    let mut state = fnv(0xcbf2_9ce4_8422_2325, &grey);
    for _ in 1..256 {
        env.step(&[0.0], ObservationMut::U8(&mut grey)).unwrap();
        state = fnv(state, &grey);
    }
    assert_eq!(format!("{state:016x}"), golden().every_grey);
}

#[test]
fn episode_statistics_are_gymnasium_s() {
    let (sender, reports) = mpsc::channel();
    let env = ScaleReward::new(cartpole(), 0.1).unwrap();
    let mut env = RecordEpisodeStatistics::new(env)
        .reporting_to(move |episode| sender.send(*episode).unwrap());
    let mut observation = [0.0; 4];
    assert_eq!(env.last_episode(), None);
    for (seed, &(episode_return, length)) in golden().statistics.iter().enumerate() {
        // An episode that is left in its midst leaves no trace.
        env.reset(Some(9), ObservationMut::F32(&mut observation)).unwrap();
        env.step(&[0.0], ObservationMut::F32(&mut observation)).unwrap();
        env.reset(Some(seed as u64), ObservationMut::F32(&mut observation)).unwrap();
        let action = [(seed % 2) as f32];
        while !env.step(&action, ObservationMut::F32(&mut observation)).unwrap().done() {}
        let episode = env.last_episode().unwrap();
        assert_eq!((episode.episode_return, episode.length), (episode_return, length));
        assert!(episode.elapsed.as_nanos() > 0 && episode.elapsed.as_secs() < 60);
        assert_eq!(reports.try_recv(), Ok(episode));
    }
    assert_eq!(env.episode_count(), 4);
    assert!(reports.try_recv().is_err());
}

#[test]
fn recorded_frames_are_gymnasium_s() {
    let mut films: Vec<(String, Vec<String>)> = Vec::new();
    let mut ends = Vec::new();
    let sink = |recorded: RecordedFrame| {
        let name = format!("rl-video-episode-{}", recorded.episode);
        if recorded.step == 0 {
            films.push((name.clone(), Vec::new()));
        }
        let (film, frames) = films.last_mut().unwrap();
        assert_eq!((&*film, frames.len()), (&name, recorded.step as usize));
        frames.push(hash(&recorded.frame.pixels));
        if recorded.last {
            ends.push((recorded.episode, recorded.step));
        }
        Ok(())
    };
    let mut env = RecordFrames::new(Pattern::new(8, 6), 3, sink).unwrap();
    let mut frame = vec![0; 8 * 6 * 3];
    assert!(!env.is_recording());
    for episode in 0..7 {
        env.reset(Some(episode), ObservationMut::U8(&mut frame)).unwrap();
        assert_eq!(env.is_recording(), episode % 3 == 0);
        for _ in 0..if episode == 3 { 2 } else { PATTERN_STEPS } {
            env.step(&[1.0], ObservationMut::U8(&mut frame)).unwrap();
        }
    }
    drop(env);
    assert_eq!(films, golden().films);
    assert_eq!(ends, [(0, PATTERN_STEPS), (6, PATTERN_STEPS)]);
}

#[test]
fn a_failing_sink_fails_the_step_but_not_the_episode() {
    let full = || EnvError::Other { env: "film".to_owned(), message: "full".to_owned() };
    let sink = |frame: RecordedFrame| match frame.step {
        2 => Err(full()),
        _ => Ok(()),
    };
    let mut env = RecordFrames::new(Pattern::new(2, 2), 1, sink).unwrap();
    let mut frame = [0; 12];
    env.reset(Some(1), ObservationMut::U8(&mut frame)).unwrap();
    env.step(&[0.0], ObservationMut::U8(&mut frame)).unwrap();
    assert_eq!(env.step(&[0.0], ObservationMut::U8(&mut frame)), Err(full()));
    env.step(&[0.0], ObservationMut::U8(&mut frame)).unwrap();
    assert_eq!(env.env().time, Some(3));
}

#[test]
fn wrapped_environments_keep_the_promises_of_env() {
    for play in golden().cartpole {
        check_env(&mut build(&play.stack)).unwrap();
    }
    for play in golden().pattern.iter().filter(|play| play.stack != "resize large") {
        check_env(&mut build_frames(&play.stack)).unwrap();
    }
    let sink = |_: RecordedFrame| Ok(());
    check_env(&mut RecordFrames::new(Pattern::new(8, 6), 2, sink).unwrap()).unwrap();
    check_env(&mut RecordEpisodeStatistics::new(cartpole())).unwrap();
}

/// Every wrapper, around any environment that it fits.
const WRAPPERS: [fn(Box<dyn Env>) -> Result<Box<dyn Env>, EnvError>; 9] = [
    |env| Ok(Box::new(TimeLimit::new(env, 7))),
    |env| Ok(Box::new(ResizeObservation::new(env, [5, 4])?)),
    |env| Ok(Box::new(GrayscaleObservation::new(env)?)),
    |env| Ok(Box::new(FrameStackObservation::new(env, 2)?)),
    |env| Ok(Box::new(RepeatAction::new(env, 2)?)),
    |env| Ok(Box::new(ScaleReward::new(env, -0.5)?)),
    |env| Ok(Box::new(ClipReward::new(env, 0.0, 1.0)?)),
    |env| Ok(Box::new(RecordEpisodeStatistics::new(env))),
    |env| Ok(Box::new(RecordFrames::new(env, 2, |_| Ok(()))?)),
];

#[test]
fn wrappers_stack_in_any_order() {
    let mut stacks = 0;
    for a in WRAPPERS {
        for b in WRAPPERS {
            for c in WRAPPERS {
                let bare: [Box<dyn Env>; 2] = [cartpole(), Box::new(Pattern::new(8, 6))];
                for env in bare {
                    let Ok(mut env) = a(env).and_then(b).and_then(c) else { continue };
                    check_env(&mut env).unwrap();
                    stacks += 1;
                }
            }
        }
    }
    // All but the two for frames fit CartPole. Frames are made grey once, and not after stacking:
    // never, first, second or third.
    let over_frames = 8 * 8 * 8 + 8 * 8 + 7 * 8 + 7 * 7;
    assert_eq!(stacks, 7 * 7 * 7 + over_frames);
}

#[test]
fn car_racing_can_be_wrapped_by_everything_at_once() {
    let env = EnvRegistry::with_builtin().make("CarRacing-v3").unwrap();
    let env = RecordEpisodeStatistics::new(RepeatAction::new(env, 4).unwrap());
    let env = ResizeObservation::new(GrayscaleObservation::new(env).unwrap(), [64, 64]).unwrap();
    let env = ClipReward::new(FrameStackObservation::new(env, 4).unwrap(), -1.0, 1.0).unwrap();
    let mut env = ScaleReward::new(TimeLimit::new(env, 20), 0.5).unwrap();
    assert_eq!(env.spec().observation_space.shape(), [64, 64, 4]);
    assert_eq!(env.spec().max_episode_steps, Some(20));
    check_env(&mut env).unwrap();
    // Inwards: scaling, limit, clipping, stack, size, grey, statistics.
    let statistics = env.env().env().env().env().env().env();
    assert_eq!(statistics.last_episode(), None, "the limit lies outside of the statistics");
}

#[test]
fn specs_say_what_the_stack_does() {
    let spec = |env: &dyn Env| env.spec().clone();
    let car = || EnvRegistry::with_builtin().make("CarRacing-v3").unwrap();
    let repeated = spec(&RepeatAction::new(car(), 3).unwrap());
    assert_eq!(repeated.max_episode_steps, Some(334));
    assert!(repeated.rules.ends_with("; every action is taken 3 times"), "{}", repeated.rules);
    let env = ClipReward::new(ScaleReward::new(cartpole(), 0.1).unwrap(), -1.0, 0.5).unwrap();
    let rules = spec(&env).rules;
    let expected = "; rewards times 0.1; rewards are kept within -1 and 0.5";
    assert!(rules.ends_with(expected), "{rules}");
    let stacked = spec(&FrameStackObservation::new(cartpole(), 2).unwrap());
    let alone = spec(&cartpole()).observation_space;
    assert_eq!(stacked.observation_space.width(), 8);
    assert_eq!(stacked.observation_space.bounds(6), alone.bounds(2));
}

#[test]
fn pictures_pass_through_wrappers() {
    let mut alone = pattern();
    alone.reset(Some(2), ObservationMut::U8(&mut [0; 96 * 96 * 3])).unwrap();
    let picture = alone.render().unwrap().unwrap();
    for play in golden().pattern.iter().filter(|play| play.stack != "resize large") {
        let mut env = build_frames(&play.stack);
        let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
        env.reset(Some(2), observation.as_mut()).unwrap();
        assert_eq!(env.render().unwrap().as_ref(), Some(&picture), "{}", play.stack);
    }
}

#[test]
fn refused_steps_change_nothing() {
    let mut env = FrameStackObservation::new(RepeatAction::new(pattern(), 2).unwrap(), 3).unwrap();
    let (mut stack, mut expected) = (vec![0; 96 * 96 * 9], vec![0; 96 * 96 * 9]);
    for refuse in [false, true] {
        env.reset(Some(1), ObservationMut::U8(&mut stack)).unwrap();
        env.step(&[1.0], ObservationMut::U8(&mut stack)).unwrap();
        if refuse {
            let action = env.step(&[3.0], ObservationMut::U8(&mut stack)).unwrap_err();
            assert!(matches!(action, EnvError::InvalidAction { .. }), "{action}");
            let buffer = env.step(&[1.0], ObservationMut::U8(&mut stack[1..])).unwrap_err();
            assert!(matches!(buffer, EnvError::ObservationBuffer { .. }), "{buffer}");
        }
        env.step(&[1.0], ObservationMut::U8(&mut stack)).unwrap();
        if !refuse {
            expected.copy_from_slice(&stack);
        }
    }
    assert_eq!(stack, expected);
}

#[test]
fn misfits_are_refused_with_a_reason() {
    #[track_caller]
    fn check<E>(made: Result<E, EnvError>, message: &str) {
        assert_eq!(made.map(|_| ()).unwrap_err().to_string(), message);
    }
    let grey = || GrayscaleObservation::new(pattern()).unwrap();
    check(
        GrayscaleObservation::new(grey()),
        "GrayscaleObservation cannot wrap Pattern-v0: its observations, \
         Box(0, 255, (96, 96, 1), uint8), are no frames of three colours",
    );
    check(
        ResizeObservation::new(pattern(), [64, 0]),
        "ResizeObservation cannot wrap Pattern-v0: 64×0 pixels are no size",
    );
    check(
        ResizeObservation::new(Pattern::new(5000, 4001), [63, 63]),
        "ResizeObservation cannot wrap Pattern-v0: 5000×4001 pixels are too many",
    );
    let space = cartpole().spec().observation_space.to_string();
    let reason = format!("its observations, {space}, are no frames");
    let message = format!("ResizeObservation cannot wrap CartPole-v1: {reason}");
    check(ResizeObservation::new(cartpole(), [8, 8]), &message);
    check(
        FrameStackObservation::new(pattern(), 0),
        "FrameStackObservation cannot wrap Pattern-v0: a stack of 0 observations is empty",
    );
    check(
        RepeatAction::new(pattern(), 0),
        "RepeatAction cannot wrap Pattern-v0: actions taken 0 times do nothing",
    );
    check(
        ScaleReward::new(pattern(), f64::NAN),
        "ScaleReward cannot wrap Pattern-v0: rewards times NaN mean nothing",
    );
    for (min, max) in [(1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::NAN)] {
        let message =
            format!("ClipReward cannot wrap Pattern-v0: no reward is within {min} and {max}");
        check(ClipReward::new(pattern(), min, max), &message);
    }
    let sink = |_: RecordedFrame| Ok(());
    check(
        RecordFrames::new(pattern(), 0, sink),
        "RecordFrames cannot wrap Pattern-v0: there is no 0th episode",
    );
    let mut env = RecordFrames::new(EveryColor(pattern().spec, 0), 1, sink).unwrap();
    let error = env.reset(None, ObservationMut::U8(&mut [0; 96 * 96 * 3]));
    check(error, "RecordFrames cannot wrap Pattern-v0: it draws no pictures");
}
