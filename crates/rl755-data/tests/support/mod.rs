//! Small environments and datasets for the tests.
#![allow(dead_code, reason = "each test uses its part")]

mod encoding;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use rl755_data::{
    CollectConfig, CollectReport, FrameFormat, OnCorrupt, PackConfig, PackInput, PackReport,
    PolicyRegistry, VerifyConfig, VerifyReport, collect, pack, verify,
};
use rl755_env::{Env, EnvError, EnvRegistry, EnvSpec, ObservationMut, Space, Step};
use rl755_run::{Interrupt, Progress, Silent};

#[allow(unused_imports, reason = "each test uses its part")]
pub(crate) use encoding::*;

/// A picture that depends on the seed, the step and the actions so far. An episode ends by itself
/// after 4 to 11 steps, by its seed.
pub(crate) struct Stripes {
    spec: EnvSpec,
    seed: u64,
    step: u64,
    state: f32,
}

impl Stripes {
    pub(crate) const ID: &str = "Stripes-v0";

    pub(crate) fn new() -> Self {
        Self {
            spec: EnvSpec {
                id: Self::ID.to_owned(),
                observation_space: Space::Image { height: 6, width: 8, channels: 3 },
                action_space: Space::Box { low: vec![-1.0, 0.0], high: vec![1.0, 1.0] },
                max_episode_steps: None,
                rules: "ends after 4 to 11 steps".to_owned(),
            },
            seed: 0,
            step: 0,
            state: 0.0,
        }
    }

    fn draw(&self, observation: ObservationMut<'_>) -> Result<(), EnvError> {
        let frame = observation.bytes(&self.spec)?;
        for (i, byte) in frame.iter_mut().enumerate() {
            let state = self.state.to_bits().wrapping_mul(2_654_435_761) >> 24;
            *byte = (i * (i + state as usize)) as u8;
        }
        // No two frames are the same.
        frame[..8].copy_from_slice(&self.seed.to_le_bytes());
        frame[8] = self.step as u8;
        Ok(())
    }
}

impl Env for Stripes {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        self.seed = seed.unwrap_or(self.seed + 1);
        self.step = 0;
        self.state = 0.0;
        self.draw(observation)
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        self.step += 1;
        self.state += action[0] - action[1];
        self.draw(observation)?;
        let terminated = self.step >= 4 + self.seed % 8;
        Ok(Step { reward: f64::from(self.state), terminated, truncated: false })
    }
}

/// An environment that fails in its third episode, by an error or by a panic.
pub(crate) struct Broken {
    inner: Stripes,
    episodes: u64,
    panics: bool,
}

impl Env for Broken {
    fn spec(&self) -> &EnvSpec {
        self.inner.spec()
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        self.episodes += 1;
        if self.episodes == 3 {
            assert!(!self.panics, "the wheel came off");
            let message = "the wheel came off".to_owned();
            return Err(EnvError::Other { env: "Broken-v0".to_owned(), message });
        }
        self.inner.reset(seed, observation)
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        self.inner.step(action, observation)
    }
}

pub(crate) fn environments() -> EnvRegistry {
    let mut registry = EnvRegistry::with_builtin();
    registry.add(Stripes::ID, || Ok(Box::new(Stripes::new())));
    for (id, panics) in [("Failing-v0", false), ("Panicking-v0", true)] {
        registry
            .add(id, move || Ok(Box::new(Broken { inner: Stripes::new(), episodes: 0, panics })));
    }
    registry
}

pub(crate) fn config(out_dir: &Path) -> CollectConfig {
    CollectConfig {
        environment: Stripes::ID.to_owned(),
        policy: "smooth".to_owned(),
        num_rollouts: 6,
        parallelism: 1,
        max_steps: 8,
        out_dir: out_dir.to_owned(),
        seed: 1,
        frame_format: FrameFormat::Png,
        once: false,
    }
}

pub(crate) fn collect_all(config: &CollectConfig) -> CollectReport {
    let report = collect(
        config,
        &environments(),
        &PolicyRegistry::with_builtin(),
        &Silent,
        &Interrupt::new(),
    )
    .unwrap();
    assert!(!report.interrupted);
    report
}

pub(crate) fn pack_config(rollout_dir: &Path, out_dir: &Path) -> PackConfig {
    PackConfig {
        input: PackInput::RolloutDir(rollout_dir.to_owned()),
        out_dir: out_dir.to_owned(),
        out_name: "stripes".to_owned(),
        rollouts_per_tfrecord_file: 2,
        parallelism: 1,
        validation_fraction: 0.25,
        on_corrupt: OnCorrupt::Fail,
    }
}

pub(crate) fn pack_all(config: &PackConfig) -> PackReport {
    pack(config, &Silent, &Interrupt::new()).unwrap()
}

/// Collects and packs a small dataset into `directory/data`.
pub(crate) fn dataset(directory: &Path, edit: impl FnOnce(&mut CollectConfig)) -> PackReport {
    let mut collecting = config(&directory.join("rollouts"));
    edit(&mut collecting);
    collect_all(&collecting);
    pack_all(&pack_config(&collecting.out_dir, &directory.join("data")))
}

/// Raises an interrupt when `.0` rollouts have been counted.
pub(crate) struct StopAt(pub(crate) u64, pub(crate) Interrupt);

impl Progress for StopAt {
    fn set(&self, done: u64, _total: u64) {
        if done >= self.0 {
            self.1.raise();
        }
    }
}

/// What to verify: `pattern`, on two threads.
pub(crate) fn verify_config(pattern: &Path) -> VerifyConfig {
    VerifyConfig {
        pattern: pattern.to_str().unwrap().to_owned(),
        parallelism: 2,
        ..VerifyConfig::default()
    }
}

/// Verifies `pattern`.
pub(crate) fn check(pattern: impl AsRef<Path>) -> VerifyReport {
    verify(&verify_config(pattern.as_ref()), &Silent, &Interrupt::new()).unwrap()
}

/// The files in `directory` and their bytes, hidden files and subdirectories left out.
pub(crate) fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_file() && !name.starts_with('.') {
            files.insert(name, fs::read(path).unwrap());
        }
    }
    files
}

/// Hidden files that a killed process left.
pub(crate) fn temporaries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "tmp"))
        .collect()
}
