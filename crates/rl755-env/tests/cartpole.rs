//! CartPole-v1 against traces of Gymnasium (`golden/cartpole.py`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rl755_env::{CartPole, Env, EnvRegistry, ObservationMut};
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    every: usize,
    episodes: Vec<Episode>,
}

#[derive(Deserialize)]
struct Episode {
    seed: u64,
    actions: String,
    states: Vec<[f64; 4]>,
    terminated: bool,
    truncated: bool,
    next_start: [f64; 4],
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/cartpole.json")).unwrap()
}

#[track_caller]
fn assert_close(ours: [f64; 4], theirs: [f64; 4], what: &str) {
    for (a, b) in ours.iter().zip(theirs) {
        assert!((a - b).abs() <= 1e-12, "{what}: {ours:?} instead of {theirs:?}");
    }
}

#[test]
fn states_equal_gymnasium_s() {
    let golden = golden();
    for episode in &golden.episodes {
        let mut env = CartPole::new();
        let mut observation = [0.0; 4];
        env.reset(Some(episode.seed), ObservationMut::F32(&mut observation)).unwrap();
        assert_close(env.state(), episode.states[0], "first state");
        let mut states = episode.states[1..].iter();
        let count = episode.actions.len();
        for (index, action) in episode.actions.bytes().enumerate() {
            let action = [f32::from(action - b'0')];
            let step = env.step(&action, ObservationMut::F32(&mut observation)).unwrap();
            let taken = index + 1;
            assert_eq!(step.reward, 1.0);
            assert_eq!(step.terminated, episode.terminated && taken == count, "step {taken}");
            assert_eq!(observation, env.state().map(|v| v as f32));
            if taken % golden.every == 0 || taken == count {
                let what = format!("seed {} step {taken}", episode.seed);
                assert_close(env.state(), *states.next().unwrap(), &what);
            }
        }
        assert_eq!(states.len(), 0);
        env.reset(None, ObservationMut::F32(&mut observation)).unwrap();
        assert_close(env.state(), episode.next_start, "the random stream goes on");
    }
}

#[test]
fn episodes_end_where_gymnasium_s_do() {
    for episode in golden().episodes {
        let mut env = EnvRegistry::with_builtin().make("CartPole-v1").unwrap();
        let mut observation = [0.0; 4];
        env.reset(Some(episode.seed), ObservationMut::F32(&mut observation)).unwrap();
        let mut last = Default::default();
        for action in episode.actions.bytes() {
            let action = [f32::from(action - b'0')];
            last = env.step(&action, ObservationMut::F32(&mut observation)).unwrap();
        }
        assert_eq!((last.terminated, last.truncated), (episode.terminated, episode.truncated));
    }
}
