//! Steps per second of an environment, observations and resets included; memory per environment.
//!
//! ```text
//! cargo run --release -p rl755-env-mujoco --example env_speed -- [ID] [ENVS] [THREADS] [HOLD]
//! cargo run --release -p rl755-env-mujoco --example env_speed -- memory ID ENVS
//! ```
//!
//! With `--features mujoco` after the package it has MuJoCo's environments as well.
//!
//! Random actions, each held for HOLD steps, so that the car gets somewhere. `cargo xtask bench env`
//! runs it as `rounds ID ENVS THREADS HOLD`: once `{"ready": true}` is printed, each line of stdin
//! is a number of seconds, answered by a line `{"steps": …, "seconds": …, "resets": …}`.

#![expect(clippy::print_stdout, reason = "a program to be run in a terminal")]

use std::{env::args, error::Error, fs, io::stdin, time::Instant};

use rl755_env::{AutoresetMode, EnvRegistry, VectorEnv};

/// Rounds when run by hand; the median counts.
const ROUNDS: usize = 5;
/// Seconds of each.
const SECONDS: f64 = 2.0;
/// Drawn beforehand and taken in turn, so that drawing is not measured.
const ACTIONS: usize = 64;
/// Steps of every environment before its memory is looked at: past CarRacing's first zoom.
const MEMORY_STEPS: usize = 60;

/// What a round came to.
#[derive(Clone, Copy, Debug)]
struct Round {
    steps: u64,
    seconds: f64,
    resets: u64,
}

/// Environments under random actions.
struct RandomDriving {
    envs: VectorEnv,
    actions: Vec<Vec<f32>>,
    /// Which action is next.
    turn: usize,
    hold: usize,
    active: Vec<bool>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut words: Vec<String> = args().skip(1).collect();
    let mode = match words.first().map(String::as_str) {
        Some("rounds" | "memory") => words.remove(0),
        _ => "people".to_owned(),
    };
    let id = words.first().map_or("CarRacing-v3", String::as_str);
    let number = |index: usize, default: usize| {
        words.get(index).map_or(Ok(default), |word| word.parse::<usize>())
    };
    match mode.as_str() {
        "memory" => println!("{{\"bytes\": {}}}", memory_per_env(id, number(1, 200)?)?),
        "rounds" => {
            let (envs, threads, hold) = (number(1, 1)?, number(2, 1)?, number(3, 8)?);
            let mut driving = RandomDriving::new(id, envs, threads, hold)?;
            println!("{{\"ready\": true}}");
            for line in stdin().lines() {
                let Round { steps, seconds, resets } = driving.round(line?.trim().parse()?)?;
                println!("{{\"steps\": {steps}, \"seconds\": {seconds}, \"resets\": {resets}}}");
            }
        }
        _ => {
            let (envs, threads, hold) = (number(1, 1)?, number(2, 1)?, number(3, 8)?);
            let mut driving = RandomDriving::new(id, envs, threads, hold)?;
            for_people(id, &mut driving)?;
        }
    }
    Ok(())
}

impl RandomDriving {
    fn new(id: &str, count: usize, threads: usize, hold: usize) -> Result<Self, Box<dyn Error>> {
        let mut registry = EnvRegistry::with_builtin();
        rl755_env_mujoco::register(&mut registry);
        let mut envs = VectorEnv::make(&registry, id, count, threads)?
            .with_autoreset_mode(AutoresetMode::SameStep);
        let seeds: Vec<u64> = (0..count as u64).collect();
        envs.reset_all(&seeds)?;
        let space = envs.spec().action_space.clone();
        let mut rng = <rand_pcg::Pcg64Mcg as rand_core::SeedableRng>::seed_from_u64(0);
        let mut actions = vec![vec![0.0; count * space.width()]; ACTIONS];
        for action in actions.iter_mut().flat_map(|row| row.chunks_exact_mut(space.width())) {
            space.sample(&mut rng, action);
        }
        Ok(Self { envs, actions, turn: 0, hold: hold.max(1), active: vec![true; count] })
    }

    /// Steps for about `seconds`.
    fn round(&mut self, seconds: f64) -> Result<Round, Box<dyn Error>> {
        let (mut steps, mut resets) = (0, 0);
        let start = Instant::now();
        loop {
            resets += self.hold_one_action()?;
            steps += (self.hold * self.active.len()) as u64;
            let elapsed = start.elapsed().as_secs_f64();
            if elapsed >= seconds {
                return Ok(Round { steps, seconds: elapsed, resets });
            }
        }
    }

    /// Steps with the next action for as long as it is held; the number of resets.
    fn hold_one_action(&mut self) -> Result<u64, Box<dyn Error>> {
        let mut resets = 0;
        for _ in 0..self.hold {
            let steps = self.envs.step(&self.actions[self.turn], &self.active)?;
            let ended = steps.terminated.iter().zip(steps.truncated);
            resets += ended.filter(|&(&terminated, &truncated)| terminated || truncated).count();
        }
        self.turn = (self.turn + 1) % self.actions.len();
        Ok(resets as u64)
    }
}

fn for_people(id: &str, driving: &mut RandomDriving) -> Result<(), Box<dyn Error>> {
    let (mut rates, mut resets) = (Vec::new(), 0);
    for _ in 0..ROUNDS {
        let round = driving.round(SECONDS)?;
        rates.push(round.steps as f64 / round.seconds);
        resets += round.resets;
    }
    rates.sort_by(f64::total_cmp);
    println!(
        "{id}: median {:.0} steps/s (least {:.0}, most {:.0}) of {ROUNDS} × {SECONDS} s, {resets} \
         resets",
        rates[ROUNDS / 2],
        rates[0],
        rates[ROUNDS - 1]
    );
    Ok(())
}

/// By how many bytes the process grows with each of `count` environments in use, their observations
/// included. What all share is there before.
fn memory_per_env(id: &str, count: usize) -> Result<u64, Box<dyn Error>> {
    let drive = |count: usize| -> Result<RandomDriving, Box<dyn Error>> {
        let mut driving = RandomDriving::new(id, count, 1, 1)?;
        for _ in 0..MEMORY_STEPS {
            driving.hold_one_action()?;
        }
        Ok(driving)
    };
    let _first = drive(1)?;
    let before = resident_bytes()?;
    let _others = drive(count)?;
    Ok(resident_bytes()?.saturating_sub(before) / count as u64)
}

/// The memory that this process has in use, as Linux counts it.
fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB")).ok_or("no VmRSS")?;
    Ok(kilobytes.trim().parse::<u64>()? * 1024)
}
