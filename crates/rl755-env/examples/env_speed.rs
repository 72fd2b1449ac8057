//! Steps per second of an environment on one core, observations included.
//!
//! `cargo run --release -p rl755-env --example env_speed -- [ID] [STEPS]`

#![expect(clippy::print_stdout, reason = "a program to be run in a terminal")]

use std::{env::args, error::Error, time::Instant};

use rl755_env::{EnvRegistry, ObservationBuffer};

/// Repetitions; the median counts.
const REPEATS: usize = 5;
/// Steps for which an action is held, so that the car gets somewhere.
const HOLD: usize = 8;

fn main() -> Result<(), Box<dyn Error>> {
    let id = args().nth(1).unwrap_or_else(|| "CarRacing-v3".to_owned());
    let steps: usize = args().nth(2).unwrap_or_else(|| "20000".to_owned()).parse()?;
    let mut env = EnvRegistry::with_builtin().make(&id)?;
    let space = env.spec().action_space.clone();
    let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
    let mut action = vec![0.0; space.width()];
    let mut rng = <rand_pcg::Pcg64Mcg as rand_core::SeedableRng>::seed_from_u64(0);
    let mut rates = Vec::new();
    let mut resets = 0;
    for repeat in 0..REPEATS {
        env.reset(Some(repeat as u64), observation.as_mut())?;
        let start = Instant::now();
        for step in 0..steps {
            if step % HOLD == 0 {
                space.sample(&mut rng, &mut action);
            }
            if env.step(&action, observation.as_mut())?.done() {
                env.reset(None, observation.as_mut())?;
                resets += 1;
            }
        }
        rates.push(steps as f64 / start.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    println!(
        "{id}: median {:.0} steps/s (least {:.0}, most {:.0}) of {REPEATS} × {steps} steps, \
         {resets} resets",
        rates[REPEATS / 2],
        rates[0],
        rates[REPEATS - 1]
    );
    Ok(())
}
