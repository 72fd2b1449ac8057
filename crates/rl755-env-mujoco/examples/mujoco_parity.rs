//! An environment's observations and rewards in full precision, for parity/beside_gymnasium.py.
//!
//! ```text
//! cargo run --release -p rl755-env-mujoco --features render --example mujoco_parity -- Swimmer-v5 0 1000
//! ```
//!
//! Writes doubles to stdout: the first observation, and for each step reward, 1 if the task ended
//! or else 0, and observation; after an episode's end the observation that begins the next, too.

use std::{
    env::args,
    error::Error,
    io::{Write, stdout},
};

use rl755_env::{Env, ObservationBuffer, TimeLimit, numpy::NumpyRng};
use rl755_env_mujoco::tasks;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = args().skip(1).collect();
    let [id, seed, steps, picture @ ..] = words.as_slice() else {
        return Err("give an id, a seed, and a number of steps".into());
    };
    let (seed, steps) = (seed.parse::<u64>()?, steps.parse::<u32>()?);
    let env = tasks::make(id)?;
    let limit = env.spec().max_episode_steps.unwrap_or(u32::MAX);
    let mut env = TimeLimit::new(env, limit);
    let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
    let space = env.spec().action_space.clone();
    let mut rng = NumpyRng::new(1000 + seed);
    let mut written = Vec::new();
    env.reset(Some(seed), observation.as_mut())?;
    written.extend(env.env().observation());
    for _ in 0..steps {
        let action: Vec<f32> = (0..space.width())
            .map(|index| {
                let (low, high) = space.bounds(index);
                rng.uniform(f64::from(low), f64::from(high)) as f32
            })
            .collect();
        let step = env.step(&action, observation.as_mut())?;
        written.extend([step.reward, f64::from(u8::from(step.terminated))]);
        written.extend(env.env().observation());
        if step.done() {
            env.reset(None, observation.as_mut())?;
            written.extend(env.env().observation());
        }
    }
    if !picture.is_empty() {
        let frame = env.render()?.ok_or("there are no pictures")?;
        stdout().write_all(&frame.pixels)?;
        return Ok(());
    }
    let bytes: Vec<u8> = written.iter().flat_map(|value: &f64| value.to_le_bytes()).collect();
    stdout().write_all(&bytes)?;
    Ok(())
}
