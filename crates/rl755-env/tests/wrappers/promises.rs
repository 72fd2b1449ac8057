//! Wrapped environments keep the promises of `Env`, and misfits are refused.

use rl755_env::{
    Env, EnvError, EnvRegistry, ObservationBuffer, ObservationMut, check_env,
    wrappers::{
        ClipReward, FrameStackObservation, GrayscaleObservation, RecordEpisodeStatistics,
        RecordFrames, RecordedFrame, RepeatAction, ResizeObservation, ScaleReward, TimeLimit,
    },
};

use crate::{
    cartpole,
    pattern::{EveryColor, Pattern},
};

type Wrap = fn(Box<dyn Env>) -> Result<Box<dyn Env>, EnvError>;

fn pattern() -> Pattern {
    Pattern::new(8, 6)
}

/// Every wrapper, around any environment that it fits.
const WRAPPERS: [Wrap; 9] = [
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
                let bare: [Box<dyn Env>; 2] = [cartpole(), Box::new(pattern())];
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
    alone.reset(Some(2), ObservationMut::U8(&mut [0; 8 * 6 * 3])).unwrap();
    let picture = alone.render().unwrap().unwrap();
    for wrap in WRAPPERS {
        let mut env = wrap(Box::new(pattern())).unwrap();
        let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
        env.reset(Some(2), observation.as_mut()).unwrap();
        assert_eq!(env.render().unwrap().as_ref(), Some(&picture));
    }
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
fn refused_steps_change_nothing() {
    let mut env = FrameStackObservation::new(RepeatAction::new(pattern(), 2).unwrap(), 3).unwrap();
    let (mut stack, mut expected) = (vec![0; 8 * 6 * 9], vec![0; 8 * 6 * 9]);
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
         Box(0, 255, (8, 6, 1), uint8), are no frames of three colours",
    );
    check(
        ResizeObservation::new(pattern(), [64, 0]),
        "ResizeObservation cannot wrap Pattern-v0: 64×0 pixels are none or too many",
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
        "FrameStackObservation cannot wrap Pattern-v0: a stack of 0 observations; 1 to 1024 will do",
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
    let error = env.reset(None, ObservationMut::U8(&mut [0; 8 * 6 * 3]));
    check(error, "RecordFrames cannot wrap Pattern-v0: it draws no pictures");
}
