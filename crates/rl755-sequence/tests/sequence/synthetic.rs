//! Encoded datasets whose dynamics are known: a point on a circle, which the action turns.

use std::path::{Path, PathBuf};

use burn::tensor::Device;
use ndarray::{Array2, s};
use rl755_data::{
    DatasetManifest, EncodedRollout, EncoderSource, MANIFEST_FORMAT, ShardWriter, shard_name,
    train_and_validation,
};
use rl755_env::{EnvSpec, Space};
use rl755_nn::OptimizerConfig;
use rl755_run::{Interrupt, Outcome, Random, Silent, TrainingConfig, digest_bytes};
use rl755_sequence::{SequenceError, SequenceRegistry, StageContext, TrainSequenceConfig};

/// Steps in a rollout.
pub(crate) const STEPS: usize = 90;

/// A rollout of a point on the unit circle that turns by 0.5 + 0.3 · action at each step.
pub(crate) fn rollout(seed: u64) -> EncodedRollout {
    let mut random = Random::new(seed);
    let mut angle = random.uniform(0.0, std::f64::consts::TAU);
    let mut latents = Array2::zeros((STEPS, 2));
    let actions = Array2::from_shape_simple_fn((STEPS, 1), || random.uniform(-1.0, 1.0) as f32);
    for (mut latent, action) in latents.rows_mut().into_iter().zip(actions.column(0)) {
        latent[0] = angle.cos() as f32;
        latent[1] = angle.sin() as f32;
        angle += 0.5 + 0.3 * f64::from(*action);
    }
    EncodedRollout {
        environment: environment(),
        seed,
        policy: "uniform".to_owned(),
        encoder: encoder().digest,
        std_devs: Array2::from_elem((STEPS, 2), 0.05),
        extras: Default::default(),
        latents,
        actions,
        rewards: vec![0.0; STEPS],
        terminated: false,
        truncated: true,
    }
}

fn environment() -> EnvSpec {
    EnvSpec {
        id: "Circle-v0".to_owned(),
        observation_space: Space::Image { height: 8, width: 8, channels: 1 },
        action_space: Space::Box { low: vec![-1.0], high: vec![1.0] },
        max_episode_steps: None,
        rules: "turns by 0.5 + 0.3 times the action".to_owned(),
    }
}

fn encoder() -> EncoderSource {
    EncoderSource {
        name: "circle".to_owned(),
        path: "encoder".into(),
        digest: digest_bytes(b"weights"),
        latent_width: 2,
        extras: Default::default(),
    }
}

/// The same, of `steps` steps.
pub(crate) fn short_rollout(seed: u64, steps: usize) -> EncodedRollout {
    let whole = rollout(seed);
    EncodedRollout {
        latents: whole.latents.slice(s![..steps, ..]).to_owned(),
        std_devs: whole.std_devs.slice(s![..steps, ..]).to_owned(),
        actions: whole.actions.slice(s![..steps, ..]).to_owned(),
        rewards: whole.rewards[..steps].to_vec(),
        ..whole
    }
}

/// Writes a dataset of `count` rollouts, a quarter for validation, into `directory`.
pub(crate) fn dataset(directory: &Path, count: usize) -> PathBuf {
    let rollouts: Vec<EncodedRollout> = (0..count as u64).map(rollout).collect();
    dataset_of(directory, &rollouts)
}

/// Writes a dataset of `rollouts`, a quarter for validation, into `directory`.
pub(crate) fn dataset_of(directory: &Path, rollouts: &[EncodedRollout]) -> PathBuf {
    let path = directory.join("latents");
    let mut writer = ShardWriter::create(&path, &shard_name("circle", 0, 1)).unwrap();
    for rollout in rollouts {
        writer.push(rollout).unwrap();
    }
    let count = rollouts.len();
    let manifest = DatasetManifest {
        format: MANIFEST_FORMAT,
        made_by: "test".to_owned(),
        config: serde_json::json!({ "stage": "test" }),
        name: "circle".to_owned(),
        environment: environment(),
        action_width: 1,
        encoder: Some(encoder()),
        inputs: Vec::new(),
        skipped: vec![],
        splits: train_and_validation(count, 0.25),
        shards: vec![writer.finish().unwrap()],
    };
    let text = serde_json::to_vec(&manifest).unwrap();
    std::fs::write(DatasetManifest::path_in(&path), text).unwrap();
    path
}

/// A short training of a small `model`.
pub(crate) fn config(model: &str, dataset: &Path) -> TrainSequenceConfig {
    let model_config = match model {
        "transformer" => serde_json::json!({
            "layers": 2, "hidden_size": 32, "heads": 2, "feed_forward_size": 64,
            "context_slide": 4,
        }),
        "retrieval" => serde_json::json!({
            "context": 4, "window": 2, "stride": 1, "top_k": 2, "key_size": 8,
            "transformer": {
                "layers": 1, "hidden_size": 32, "heads": 2, "feed_forward_size": 64,
                "context_slide": 2,
            },
        }),
        "infilling" => serde_json::json!({
            "channels": 16, "longest_span": 3, "gan_weight": 0.01, "noise_size": 2,
        }),
        "mdn-rnn" => serde_json::json!({ "hidden_size": 24, "mixtures": 2 }),
        "lstm" => serde_json::json!({ "hidden_size": 24 }),
        _ => serde_json::Value::Null,
    };
    TrainSequenceConfig {
        model: model.to_owned(),
        model_config,
        dataset: dataset.to_owned(),
        training: TrainingConfig { train_steps: 6, save_every_n_steps: 3, log_every_n_steps: 2 },
        validation_batches: 2,
        batch_size: 8,
        sequence_length: 8,
        seed: 5,
        ..TrainSequenceConfig::default()
    }
}

/// The model's own optimiser at another rate.
pub(crate) fn at_rate(model: &str, learning_rate: f64) -> Option<OptimizerConfig> {
    let own = SequenceRegistry::with_builtin()
        .default_optimizer(model, &serde_json::Value::Null)
        .unwrap();
    Some(OptimizerConfig { learning_rate, ..own })
}

/// Trains on the CPU, without an encoder at hand.
pub(crate) fn train(
    config: &TrainSequenceConfig,
    model_dir: &Path,
    resume: bool,
    interrupt: &Interrupt,
) -> Result<Outcome, SequenceError> {
    let device = Device::flex();
    let context = StageContext { device: &device, progress: &Silent, interrupt, decode: None };
    SequenceRegistry::with_builtin().train(config, model_dir, resume, &context)
}
