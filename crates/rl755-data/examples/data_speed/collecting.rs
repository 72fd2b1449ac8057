//! Collecting rollouts, and the same steps without keeping anything.

use std::{
    fs, io,
    path::{Path, PathBuf},
    thread,
};

use rl755_data::{CollectConfig, PolicyRegistry, collect};
use rl755_env::{Env, EnvRegistry, ObservationBuffer};
use rl755_run::{Interrupt, Silent, derive_seed};

use crate::{Job, Outcome};

pub(crate) const ENVIRONMENT: &str = "CarRacing-v3";
pub(crate) const POLICY: &str = "smooth";
/// Steps of a rollout.
const STEPS: u64 = 500;
/// Rollouts of each thread between two looks at the clock.
const ROLLOUTS: u64 = 4;

/// Calls [`collect`], each time with another seed and into another directory.
pub(crate) struct Collecting {
    config: CollectConfig,
    directory: PathBuf,
}

impl Collecting {
    pub(crate) fn new(threads: usize, directory: &Path) -> Outcome<Self> {
        let config = config(directory, ROLLOUTS * threads as u64, STEPS, threads);
        Ok(Self { config, directory: directory.to_owned() })
    }
}

pub(crate) fn config(
    out_dir: &Path,
    num_rollouts: u64,
    max_steps: u64,
    threads: usize,
) -> CollectConfig {
    CollectConfig {
        environment: ENVIRONMENT.to_owned(),
        policy: POLICY.to_owned(),
        num_rollouts,
        parallelism: threads,
        max_steps,
        out_dir: out_dir.to_owned(),
        seed: 0,
        once: false,
        frame_format: rl755_data::FrameFormat::Png,
    }
}

impl Job for Collecting {
    fn work(&mut self) -> Outcome<u64> {
        self.config.out_dir = self.directory.join(self.config.seed.to_string());
        let (environments, policies) =
            (EnvRegistry::with_builtin(), PolicyRegistry::with_builtin());
        let report = collect(&self.config, &environments, &policies, &Silent, &Interrupt::new())?;
        self.config.seed += 1;
        Ok(report.steps)
    }

    fn tidy(&mut self) -> Outcome<()> {
        match fs::remove_dir_all(&self.directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// Steps the environment as [`Collecting`] does, with the same seeds and policies.
pub(crate) struct Stepping {
    threads: usize,
    seed: u64,
}

impl Stepping {
    pub(crate) fn new(threads: usize) -> Outcome<Self> {
        Ok(Self { threads, seed: 0 })
    }
}

impl Job for Stepping {
    fn work(&mut self) -> Outcome<u64> {
        let (environments, policies) =
            (EnvRegistry::with_builtin(), PolicyRegistry::with_builtin());
        let seed = self.seed;
        self.seed += 1;
        let work = |thread: usize| -> Result<u64, String> {
            let mut env = environments.make(ENVIRONMENT).map_err(|e| e.to_string())?;
            let mut steps = 0;
            for rollout in 0..ROLLOUTS {
                let index = rollout * self.threads as u64 + thread as u64;
                steps += episode(env.as_mut(), &policies, derive_seed(seed, "rollout", index))
                    .map_err(|e| e.to_string())?;
            }
            Ok(steps)
        };
        let work = &work;
        Ok(thread::scope(|scope| {
            let threads: Vec<_> =
                (0..self.threads).map(|thread| scope.spawn(move || work(thread))).collect();
            let steps = threads.into_iter().map(|t| t.join().expect("a thread panicked"));
            steps.sum::<Result<u64, String>>()
        })?)
    }
}

/// Steps to the end of an episode; how many steps those were.
fn episode(env: &mut dyn Env, policies: &PolicyRegistry, seed: u64) -> Outcome<u64> {
    let space = env.spec().action_space.clone();
    let mut policy = policies.make(POLICY, &space, derive_seed(seed, "policy", 0))?;
    let mut action = vec![0.0; space.width()];
    let mut observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
    env.reset(Some(seed), observation.as_mut())?;
    for step in 1..=STEPS {
        policy.act(observation.as_ref(), &mut action);
        let outcome = env.step(&action, observation.as_mut())?;
        if outcome.terminated || outcome.truncated {
            return Ok(step);
        }
    }
    Ok(STEPS)
}
