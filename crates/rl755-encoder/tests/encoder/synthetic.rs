//! Small raw datasets, and trainings on them that take a moment.

use std::path::{Path, PathBuf};

use ndarray::Array2;
use rl755_data::{
    DatasetManifest, MANIFEST_FORMAT, Rollout, ShardWriter, shard_name, train_and_validation,
};
use rl755_encoder::{EncoderRegistry, StageContext, TrainEncoderConfig};
use rl755_env::{EnvSpec, ObservationBuffer, Space};
use rl755_nn::OptimizerConfig;
use rl755_run::{Interrupt, Outcome, Random, Silent, TrainingConfig};

/// A directory with a dataset in it, and room for runs.
pub(crate) struct Place {
    directory: tempfile::TempDir,
}

impl Place {
    /// With a dataset of `rollouts` rollouts of frames: a bright square on a coloured ground.
    pub(crate) fn with_frames(rollouts: usize) -> Self {
        let space = Space::Image { height: 24, width: 32, channels: 3 };
        let observe = |random: &mut Random, steps: usize| {
            let frames = (0..steps).flat_map(|_| frame(random)).collect();
            ObservationBuffer::U8(frames)
        };
        Self::with(space, rollouts, observe)
    }

    /// With a dataset of `rollouts` rollouts of vectors: four numbers on a plane.
    pub(crate) fn with_vectors(rollouts: usize) -> Self {
        let space = Space::Box { low: vec![f32::NEG_INFINITY; 4], high: vec![f32::INFINITY; 4] };
        let observe = |random: &mut Random, steps: usize| {
            let rows = (0..steps).flat_map(|_| {
                let (a, b) = (random.normal() as f32, random.normal() as f32);
                [a, b, a + b, a - b]
            });
            ObservationBuffer::F32(rows.collect())
        };
        Self::with(space, rollouts, observe)
    }

    fn with(
        space: Space,
        rollouts: usize,
        observe: impl Fn(&mut Random, usize) -> ObservationBuffer,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let environment = EnvSpec {
            id: "Synthetic-v0".into(),
            observation_space: space,
            action_space: Space::Box { low: vec![-1.0; 2], high: vec![1.0; 2] },
            max_episode_steps: None,
            rules: "none".into(),
        };
        let path = directory.path().join("raw");
        let file = shard_name("raw", 0, 1);
        let mut writer = ShardWriter::create(&path, &file).unwrap();
        for index in 0..rollouts {
            let mut random = Random::derived(1, "rollout", index as u64);
            let steps = 3 + random.below(6);
            writer
                .push(&Rollout {
                    environment: environment.clone(),
                    seed: index as u64,
                    policy: "synthetic".into(),
                    observations: observe(&mut random, steps),
                    actions: Array2::from_shape_fn((steps, 2), |_| random.unit() as f32),
                    rewards: (0..steps).map(|_| random.unit() as f32).collect(),
                    terminated: index % 2 == 0,
                    truncated: index % 3 == 0,
                })
                .unwrap();
        }
        let manifest = DatasetManifest {
            format: MANIFEST_FORMAT,
            made_by: "a test".into(),
            config: serde_json::json!({ "stage": "test" }),
            name: "raw".into(),
            action_width: environment.action_space.width(),
            environment,
            encoder: None,
            inputs: vec![],
            skipped: vec![],
            splits: train_and_validation(rollouts, 0.25),
            shards: vec![writer.finish().unwrap()],
        };
        let text = serde_json::to_vec(&manifest).unwrap();
        std::fs::write(DatasetManifest::path_in(&path), text).unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn dataset(&self) -> PathBuf {
        self.path("raw")
    }

    /// A short training of `model` on the dataset.
    pub(crate) fn config(&self, model: &str, train_steps: u64) -> TrainEncoderConfig {
        TrainEncoderConfig {
            model: model.into(),
            model_config: serde_json::json!({}),
            dataset: self.dataset(),
            validation_observations: 16,
            optimizer: OptimizerConfig { learning_rate: 1e-2, ..OptimizerConfig::default() },
            training: TrainingConfig { train_steps, save_every_n_steps: 2, log_every_n_steps: 1 },
            batch_size: 8,
            obs_sampled_per_rollout: 4,
            shuffle_buffer_bytes: 10_000,
            seed: 3,
            ..TrainEncoderConfig::default()
        }
    }

    /// The same for a narrow convolutional encoder.
    pub(crate) fn narrow(&self, model: &str, train_steps: u64) -> TrainEncoderConfig {
        let channels = if model.starts_with("vae-") { vec![4, 4, 6, 5] } else { vec![4, 6] };
        let model_config = serde_json::json!({ "latent_size": 3, "channels": channels });
        TrainEncoderConfig { model_config, ..self.config(model, train_steps) }
    }

    /// Trains into the run directory `name`.
    pub(crate) fn train(&self, config: &TrainEncoderConfig, name: &str) -> PathBuf {
        let path = self.path(name);
        let outcome = train(&EncoderRegistry::with_builtin(), config, &path, &Interrupt::new());
        assert_eq!(outcome, Outcome::Complete);
        path
    }
}

/// Trains or goes on training.
pub(crate) fn train(
    registry: &EncoderRegistry,
    config: &TrainEncoderConfig,
    path: &Path,
    interrupt: &Interrupt,
) -> Outcome {
    let device = burn::tensor::Device::flex();
    let context = StageContext { device: &device, progress: &Silent, interrupt };
    registry.train(config, path, true, &context).unwrap()
}

/// One frame of 24×32 pixels.
pub(crate) fn frame(random: &mut Random) -> Vec<u8> {
    let ground: Vec<u8> = (0..3).map(|_| random.below(128) as u8).collect();
    let (top, left) = (random.below(16), random.below(24));
    let pixel = |index: usize| {
        let (y, x) = (index / 32, index % 32);
        let inside = (top..top + 8).contains(&y) && (left..left + 8).contains(&x);
        if inside { vec![250; 3] } else { ground.clone() }
    };
    (0..24 * 32).flat_map(pixel).collect()
}

/// The bytes of a checkpoint's weights.
pub(crate) fn weights(run: &Path, checkpoint: u64) -> Vec<u8> {
    let directory = format!("checkpoints/model-{checkpoint:03}/model.safetensors");
    std::fs::read(run.join(directory)).unwrap()
}
