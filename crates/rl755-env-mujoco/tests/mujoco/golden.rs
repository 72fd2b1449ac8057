//! Every observation, reward and end of 5 seeds of 1,000 steps, by hashes of Gymnasium's.

use std::collections::BTreeMap;

use rl755_env::{Env, ObservationBuffer, TimeLimit, numpy::NumpyRng};
use rl755_env_mujoco::{IDS, tasks};
use serde::Deserialize;

#[derive(Deserialize)]
pub(crate) struct Golden {
    every: u32,
    pub(crate) environments: BTreeMap<String, Environment>,
}

#[derive(Deserialize)]
pub(crate) struct Environment {
    /// By seed; then every 100 steps, of observations and of rewards and ends.
    hashes: Vec<Vec<[String; 2]>>,
    pub(crate) poses: Vec<[f64; 7]>,
}

/// Made by tests/golden/mujoco_envs.py from Gymnasium 1.4.0, MuJoCo 3.17.0 and NumPy 2.4.6. No
/// tolerance: the C library's sines, cosines and powers must be glibc's, on a processor with FMA.
pub(crate) fn golden() -> Golden {
    serde_json::from_str(include_str!("../golden/mujoco_envs.json")).unwrap()
}

fn add(hash: u64, values: &[f64]) -> u64 {
    values.iter().fold(hash, |hash, value| (hash ^ value.to_bits()).wrapping_mul(0x0100_0000_01b3))
}

/// The hashes of an episode after another, as the generator makes them.
fn hashes(id: &str, seed: u64, steps: u32, every: u32) -> Vec<[String; 2]> {
    let env = tasks::make(id).unwrap();
    let limit = env.spec().max_episode_steps.unwrap();
    let mut env = TimeLimit::new(env, limit);
    let space = env.spec().action_space.clone();
    let mut buffer = ObservationBuffer::zeros(&env.spec().observation_space, 1);
    let (mut observations, mut outcomes) = (0xcbf2_9ce4_8422_2325, 0xcbf2_9ce4_8422_2325);
    let mut rng = NumpyRng::new(1000 + seed);
    env.reset(Some(seed), buffer.as_mut()).unwrap();
    observations = add(observations, env.env().observation());
    let mut found = Vec::new();
    for step in 1..=steps {
        let action: Vec<f32> = (0..space.width())
            .map(|index| {
                let (low, high) = space.bounds(index);
                rng.uniform(f64::from(low), f64::from(high)) as f32
            })
            .collect();
        let taken = env.step(&action, buffer.as_mut()).unwrap();
        outcomes = add(outcomes, &[taken.reward, f64::from(u8::from(taken.terminated))]);
        observations = add(observations, env.env().observation());
        let ObservationBuffer::F32(single) = &buffer else { unreachable!() };
        assert!(single.iter().zip(env.env().observation()).all(|(x, y)| *x == *y as f32));
        if step % every == 0 {
            found.push([observations, outcomes].map(|hash| format!("{hash:016x}")));
        }
        if taken.done() {
            env.reset(None, buffer.as_mut()).unwrap();
            observations = add(observations, env.env().observation());
        }
    }
    found
}

#[test]
fn every_bit_of_observations_and_rewards_is_gymnasiums() {
    let golden = golden();
    assert_eq!(golden.environments.keys().collect::<Vec<_>>(), IDS.iter().collect::<Vec<_>>());
    for (id, environment) in golden.environments {
        for (seed, expected) in (0..).zip(environment.hashes) {
            assert_eq!(expected.len(), 10);
            let found = hashes(&id, seed, 10 * golden.every, golden.every);
            assert_eq!(found, expected, "{id}, seed {seed}");
        }
    }
}
