//! Wrappers do what Gymnasium's did in the traces of `golden/wrappers.py`.

use std::sync::mpsc;

use rl755_env::{
    Env, ObservationBuffer, ObservationMut,
    wrappers::{
        ClipReward, FrameStackObservation, GrayscaleObservation, RecordEpisodeStatistics,
        RecordFrames, RecordedFrame, RepeatAction, ResizeObservation, ScaleReward, TimeLimit,
    },
};
use serde::Deserialize;

use crate::{
    cartpole,
    pattern::{EveryColor, PATTERN_STEPS, Pattern},
};

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
    serde_json::from_str(include_str!("../golden/wrappers.json")).unwrap()
}

fn fnv(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |s, b| (s ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

fn hash(bytes: &[u8]) -> String {
    format!("{:016x}", fnv(0xcbf2_9ce4_8422_2325, bytes))
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
