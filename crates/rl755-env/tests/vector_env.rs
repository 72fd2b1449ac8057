//! Environments stepped together behave as those stepped alone, whatever the threads.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use rl755_env::{
    AutoresetMode, CartPole, Env, EnvError, EnvRegistry, EnvSpec, ObservationMut, ObservationRef,
    Space, Step, TimeLimit, VectorEnv,
};
use serde::Deserialize;

fn cartpoles(count: usize, threads: usize) -> VectorEnv {
    VectorEnv::make(&EnvRegistry::with_builtin(), "CartPole-v1", count, threads).unwrap()
}

/// Which way environment `index` pushes at step `time`.
fn push(index: usize, time: usize) -> f32 {
    ((index * 7 + time * 3 + time / 4) % 2) as f32
}

/// Plays all environments to their ends; returns everything they gave.
fn play(envs: &mut VectorEnv, seeds: &[u64]) -> Vec<(Vec<f64>, Vec<bool>, Vec<f32>)> {
    envs.reset_all(seeds).unwrap();
    let active = vec![true; seeds.len()];
    let mut history = Vec::new();
    for time in 0.. {
        let actions: Vec<f32> = (0..seeds.len()).map(|index| push(index, time)).collect();
        let steps = envs.step(&actions, &active).unwrap();
        let (rewards, terminated) = (steps.rewards.to_vec(), steps.terminated.to_vec());
        let ObservationRef::F32(observations) = envs.observations().as_ref() else {
            panic!("CartPole's observations are floats")
        };
        history.push((rewards, terminated, observations.to_vec()));
        if !envs.live().contains(&true) {
            return history;
        }
    }
    unreachable!()
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let seeds: Vec<u64> = (10..23).collect();
    let one = play(&mut cartpoles(seeds.len(), 1), &seeds);
    for threads in [0, 2, 3, 50] {
        assert_eq!(play(&mut cartpoles(seeds.len(), threads), &seeds), one, "{threads} threads");
    }
}

#[test]
fn frames_do_not_depend_on_threads() {
    let play = |threads| {
        let registry = EnvRegistry::with_builtin();
        let mut envs = VectorEnv::make(&registry, "CarRacing-v3", 5, threads).unwrap();
        envs.reset_all(&[1, 2, 3, 4, 5]).unwrap();
        for time in 0..60 {
            let action = |index| [push(index, time / 9) - 0.5, 0.8, 0.0];
            let actions: Vec<f32> = (0..5).flat_map(action).collect();
            envs.step(&actions, &[true; 5]).unwrap();
        }
        envs.observations().clone()
    };
    assert_eq!(play(1), play(3));
}

#[test]
fn each_environment_behaves_as_if_alone() {
    let seeds = [3, 1, 4, 15];
    let history = play(&mut cartpoles(4, 2), &seeds);
    for (index, &seed) in seeds.iter().enumerate() {
        let mut alone = CartPole::new();
        let mut observation = [0.0; 4];
        alone.reset(Some(seed), ObservationMut::F32(&mut observation)).unwrap();
        let mut done = false;
        for (time, (rewards, terminated, observations)) in history.iter().enumerate() {
            let mut reward = 0.0;
            if !done {
                let action = [push(index, time)];
                let step = alone.step(&action, ObservationMut::F32(&mut observation)).unwrap();
                (reward, done) = (step.reward, step.done());
            }
            assert_eq!((rewards[index], terminated[index]), (reward, done), "step {time}");
            assert_eq!(observations[index * 4..][..4], observation, "step {time}");
        }
    }
}

#[test]
fn inactive_environments_stand_still() {
    let mut envs = cartpoles(3, 2);
    envs.reset_all(&[1, 2, 3]).unwrap();
    let before = envs.observations().clone();
    let steps = envs.step(&[1.0, f32::NAN, 1.0], &[true, false, true]).unwrap();
    assert_eq!(steps.rewards, [1.0, 0.0, 1.0]);
    assert_eq!(envs.observation(1), before.row(1, 4));
    assert_ne!(envs.observation(2), before.row(2, 4));
}

#[test]
fn one_environment_can_be_reset_while_others_go_on() {
    let mut envs = cartpoles(2, 1);
    envs.reset_all(&[1, 2]).unwrap();
    let first = envs.observations().clone();
    while envs.live()[0] {
        envs.step(&[0.0, 0.0], &[true, false]).unwrap();
    }
    let steps = envs.step(&[0.0, 0.0], &[true, true]).unwrap();
    assert_eq!((steps.rewards, steps.terminated), (&[0.0, 1.0][..], &[true, false][..]));
    let second = envs.observations().clone();
    envs.reset_at(0, Some(1)).unwrap();
    assert_eq!(envs.live(), [true, true]);
    assert_eq!(envs.observation(0), first.row(0, 4));
    assert_eq!(envs.observation(1), second.row(1, 4));
    assert!(!envs.step(&[0.0, 0.0], &[true, true]).unwrap().terminated[0]);
}

#[test]
fn errors_name_the_environment() {
    let mut envs = cartpoles(3, 2);
    envs.reset_all(&[1, 2, 3]).unwrap();
    let error = envs.step(&[1.0, 2.0, f32::NAN], &[true; 3]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "environment 1 of 3: CartPole-v1: action [2] is not in Discrete(2): \
         element 0 is 2, outside 0 to 1"
    );
    assert_eq!(envs.live(), [true, false, false]);
    envs.reset_at(1, None).unwrap();
    assert_eq!(envs.live(), [true, true, false]);
    assert_eq!(envs.step(&[1.0; 3], &[true; 3]).unwrap().rewards, [1.0, 1.0, 0.0]);
}

#[test]
fn slices_of_the_wrong_length_are_refused() {
    let mut envs = cartpoles(3, 1);
    let seeds = envs.reset_all(&[1, 2]).unwrap_err();
    assert_eq!(seeds.to_string(), "seeds has 2 elements; 3 environments need 3");
    envs.reset_all(&[1, 2, 3]).unwrap();
    let before = envs.observations().clone();
    for (actions, active) in [(&[0.0; 2][..], &[true; 3][..]), (&[0.0; 3], &[true; 4])] {
        let error = envs.step(actions, active).unwrap_err();
        assert!(matches!(error, EnvError::VectorLength { .. }), "{error}");
    }
    assert_eq!(envs.observations(), &before);
}

#[test]
fn nothing_is_stepped_before_the_first_reset() {
    let mut envs = cartpoles(2, 2);
    assert_eq!(envs.live(), [false, false]);
    assert_eq!(envs.step(&[0.0; 2], &[true; 2]).unwrap().rewards, [0.0, 0.0]);
}

/// An environment that only has a spec.
struct Other(EnvSpec);

impl Env for Other {
    fn spec(&self) -> &EnvSpec {
        &self.0
    }

    fn reset(&mut self, _: Option<u64>, _: ObservationMut<'_>) -> Result<(), EnvError> {
        Ok(())
    }

    fn step(&mut self, _: &[f32], _: ObservationMut<'_>) -> Result<Step, EnvError> {
        Ok(Step::default())
    }
}

#[test]
fn environments_with_other_spaces_do_not_mix() {
    let cartpole = CartPole::new();
    let mut spec = cartpole.spec().clone();
    spec.action_space = Space::Discrete { n: 3 };
    let error = VectorEnv::new(vec![Box::new(cartpole), Box::new(Other(spec))], 1).unwrap_err();
    assert!(error.to_string().contains("environment 1"), "{error}");
    assert!(VectorEnv::new(Vec::new(), 1).is_err());
}

/// `golden/vector_env.py`.
#[derive(Deserialize)]
struct Golden {
    limit: u32,
    seeds: Vec<u64>,
    traces: Vec<Trace>,
}

#[derive(Deserialize)]
struct Trace {
    mode: String,
    first: Vec<[f32; 4]>,
    steps: Vec<TracedStep>,
}

#[derive(Deserialize)]
struct TracedStep {
    actions: Vec<f32>,
    observations: Vec<[f32; 4]>,
    rewards: Vec<f64>,
    terminated: Vec<bool>,
    truncated: Vec<bool>,
    /// The last observations of the episodes that ended, in the mode `SameStep`.
    #[serde(default)]
    r#final: Vec<Option<[f32; 4]>>,
    /// Which environments were reset after the step, and with which seeds.
    #[serde(default)]
    reset: Vec<(usize, Option<u64>)>,
    #[serde(default)]
    after_reset: Vec<[f32; 4]>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/vector_env.json")).unwrap()
}

fn mode(name: &str) -> AutoresetMode {
    match name {
        "NextStep" => AutoresetMode::NextStep,
        "SameStep" => AutoresetMode::SameStep,
        "Disabled" => AutoresetMode::Disabled,
        other => panic!("no mode is called {other}"),
    }
}

fn limited_cartpoles(limit: u32, count: usize, threads: usize) -> VectorEnv {
    let cartpole = || Box::new(TimeLimit::new(CartPole::new(), limit)) as Box<dyn Env>;
    VectorEnv::new((0..count).map(|_| cartpole()).collect(), threads).unwrap()
}

#[track_caller]
fn assert_close(ours: ObservationRef<'_>, theirs: &[f32], what: &str) {
    let ObservationRef::F32(ours) = ours else { panic!("CartPole's observations are floats") };
    assert_eq!(ours.len(), theirs.len(), "{what}");
    let close = ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() <= 1e-6);
    assert!(close, "{what}: {ours:?} instead of {theirs:?}");
}

#[test]
fn autoreset_modes_are_gymnasium_s() {
    let golden = golden();
    assert_eq!(golden.traces.len(), 3);
    for (trace, threads) in golden.traces.iter().flat_map(|trace| [(trace, 1), (trace, 2)]) {
        let count = golden.seeds.len();
        let mode = mode(&trace.mode);
        let mut envs = limited_cartpoles(golden.limit, count, threads).with_autoreset_mode(mode);
        assert_eq!(envs.autoreset_mode(), mode);
        envs.reset_all(&golden.seeds).unwrap();
        assert_close(envs.observations().as_ref(), trace.first.as_flattened(), &trace.mode);
        for (time, theirs) in trace.steps.iter().enumerate() {
            let what = format!("{} step {time}", trace.mode);
            let ours = envs.step(&theirs.actions, &vec![true; count]).unwrap();
            assert_eq!(ours.rewards, theirs.rewards, "{what}");
            assert_eq!(ours.terminated, theirs.terminated, "{what}");
            assert_eq!(ours.truncated, theirs.truncated, "{what}");
            assert_close(envs.observations().as_ref(), theirs.observations.as_flattened(), &what);
            for index in 0..count {
                match (envs.final_observation(index), theirs.r#final.get(index)) {
                    (Some(ours), Some(Some(theirs))) => assert_close(ours, theirs, &what),
                    (None, None | Some(None)) => {}
                    (ours, theirs) => panic!("{what}: {ours:?} instead of {theirs:?}"),
                }
            }
            for &(index, seed) in &theirs.reset {
                envs.reset_at(index, seed).unwrap();
            }
            if !theirs.reset.is_empty() {
                assert_close(
                    envs.observations().as_ref(),
                    theirs.after_reset.as_flattened(),
                    &what,
                );
            }
        }
    }
}

#[test]
fn threads_change_nothing_in_any_autoreset_mode() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let play = |threads| {
            let mut envs = limited_cartpoles(23, 7, threads).with_autoreset_mode(mode);
            envs.reset_all(&[1, 2, 3, 4, 5, 6, 7]).unwrap();
            let mut history = Vec::new();
            for time in 0..200 {
                let actions: Vec<f32> = (0..7).map(|index| push(index, time)).collect();
                let steps = envs.step(&actions, &[true; 7]).unwrap();
                history.push((steps.rewards.to_vec(), steps.truncated.to_vec()));
                let last: Vec<_> =
                    (0..7).map(|i| envs.final_observation(i).map(|o| format!("{o:?}"))).collect();
                history.push((Vec::new(), last.iter().map(Option::is_some).collect()));
                let ObservationRef::F32(now) = envs.observations().as_ref() else { panic!() };
                history.push((now.iter().map(|&v| v.into()).collect(), Vec::new()));
            }
            history
        };
        let one = play(1);
        for threads in [2, 3, 7] {
            assert_eq!(play(threads), one, "{mode:?} with {threads} threads");
        }
    }
}

#[test]
fn inactive_environments_wait_with_their_next_episode() {
    let next_step = limited_cartpoles(2, 2, 1).with_autoreset_mode(AutoresetMode::NextStep);
    let same_step = limited_cartpoles(2, 2, 1).with_autoreset_mode(AutoresetMode::SameStep);
    for mut envs in [next_step, same_step] {
        let mode = envs.autoreset_mode();
        envs.reset_all(&[1, 2]).unwrap();
        envs.step(&[0.0; 2], &[true; 2]).unwrap();
        assert_eq!(envs.step(&[0.0; 2], &[true; 2]).unwrap().truncated, [true, true]);
        assert_eq!(envs.live(), [mode == AutoresetMode::SameStep; 2]);
        let before = envs.observations().clone();
        let steps = envs.step(&[0.0, f32::NAN], &[true, false]).unwrap();
        // An end is reported once where the next episode has begun, and until then where it has not.
        assert_eq!(steps.truncated, [false, mode == AutoresetMode::NextStep], "{mode:?}");
        assert_eq!(steps.rewards[1], 0.0);
        assert_eq!(envs.observation(1), before.row(1, 4), "{mode:?}");
        assert_ne!(envs.observation(0), before.row(0, 4), "{mode:?}");
        assert!(envs.final_observation(1).is_none());
    }
}

#[test]
fn autoreset_starts_neither_failed_environments_nor_those_never_reset() {
    for mode in [AutoresetMode::NextStep, AutoresetMode::SameStep] {
        let mut envs = limited_cartpoles(9, 2, 2).with_autoreset_mode(mode);
        assert_eq!(envs.step(&[0.0; 2], &[true; 2]).unwrap().rewards, [0.0, 0.0]);
        envs.reset_at(0, Some(1)).unwrap();
        envs.step(&[f32::NAN, 0.0], &[true; 2]).unwrap_err();
        for _ in 0..3 {
            assert_eq!(envs.step(&[0.0; 2], &[true; 2]).unwrap().rewards, [0.0, 0.0]);
            assert_eq!(envs.live(), [false, false]);
        }
    }
}

/// A CartPole whose third step panics.
struct Panics(CartPole, u32);

impl Env for Panics {
    fn spec(&self) -> &EnvSpec {
        self.0.spec()
    }

    fn reset(&mut self, seed: Option<u64>, out: ObservationMut<'_>) -> Result<(), EnvError> {
        self.1 = 0;
        self.0.reset(seed, out)
    }

    fn step(&mut self, action: &[f32], out: ObservationMut<'_>) -> Result<Step, EnvError> {
        self.1 += 1;
        assert!(self.1 != 3, "the third step");
        self.0.step(action, out)
    }
}

#[test]
fn panics_reach_the_caller_and_leave_the_threads_at_work() {
    for threads in [1, 2] {
        let panics = |_| Box::new(Panics(CartPole::new(), 0)) as Box<dyn Env>;
        let mut envs = VectorEnv::new((0..3).map(panics).collect(), threads).unwrap();
        envs.reset_all(&[1, 2, 3]).unwrap();
        for _ in 0..2 {
            envs.step(&[0.0; 3], &[false, true, false]).unwrap();
        }
        let step = AssertUnwindSafe(|| envs.step(&[0.0; 3], &[true; 3]).map(|_| ()));
        let panic = catch_unwind(step).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"the third step"));
        envs.reset_all(&[1, 2, 3]).unwrap();
        assert_eq!(envs.step(&[0.0; 3], &[true; 3]).unwrap().rewards, [1.0; 3]);
    }
}
