//! Writes a few rollouts in every layout, and what they hold as JSON, for `cargo xtask interop`.
//!
//! `write_layouts DIR` makes `DIR/png.tfrecord`, `tensor`, `float` and `latent`, and
//! `DIR/written.json`: for each layout a list of rollouts, each with its arrays by key as
//! `{"shape": [...], "type": "uint8", "values": [...]}`.

use std::{
    error::Error,
    fs::{self, File},
    io::{BufWriter, Write},
    path::PathBuf,
};

use ndarray::{Array2, s};
use rl755_data::{EncodedRollout, FrameFormat, Rollout, StoredRollout};
use rl755_env::{EnvRegistry, ObservationBuffer};
use rl755_run::{digest_bytes, write_record};
use serde_json::{Map, Value, json};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: write_layouts DIR")?);
    fs::create_dir_all(&directory)?;
    let mut written = Map::new();
    let mut write = |layout: &str, rollouts: Vec<(Vec<u8>, Value)>| {
        let path = directory.join(format!("{layout}.tfrecord"));
        let mut file = BufWriter::new(File::create(path)?);
        let (records, arrays): (Vec<_>, Vec<_>) = rollouts.into_iter().unzip();
        records.iter().try_for_each(|record| write_record(&mut file, record))?;
        written.insert(layout.to_owned(), arrays.into());
        file.flush()
    };
    let cars = [play("CarRacing-v3", 1, 20)?, play("CarRacing-v3", 2, 7)?];
    for format in FrameFormat::ALL {
        let stored = |car| Ok((Rollout::to_record_as(car, format)?, raw_arrays(car)));
        write(format.name(), cars.iter().map(stored).collect::<Result<_, Box<dyn Error>>>()?)?;
    }
    let poles = [play("CartPole-v1", 1, 50)?, play("CartPole-v1", 2, 1)?];
    let stored = |pole: &Rollout| Ok((pole.to_record()?, raw_arrays(pole)));
    write("float", poles.iter().map(stored).collect::<Result<_, Box<dyn Error>>>()?)?;
    let encoded = cars.map(encode);
    let stored = |car: &EncodedRollout| Ok((car.to_record()?, encoded_arrays(car)));
    write("latent", encoded.iter().map(stored).collect::<Result<_, Box<dyn Error>>>()?)?;
    serde_json::to_writer(File::create(directory.join("written.json"))?, &written)?;
    Ok(())
}

/// The first steps of an episode.
fn play(id: &str, seed: u64, most: usize) -> Result<Rollout, Box<dyn Error>> {
    let mut env = EnvRegistry::with_builtin().make(id)?;
    let spec = env.spec().clone();
    let mut observation = ObservationBuffer::zeros(&spec.observation_space, 1);
    let mut observations = ObservationBuffer::zeros(&spec.observation_space, 0);
    let (mut actions, mut rewards, mut terminated) = (Vec::new(), Vec::new(), false);
    env.reset(Some(seed), observation.as_mut())?;
    while rewards.len() < most && !terminated {
        match (&mut observations, &observation) {
            (ObservationBuffer::U8(all), ObservationBuffer::U8(one)) => all.extend(one),
            (ObservationBuffer::F32(all), ObservationBuffer::F32(one)) => all.extend(one),
            _ => unreachable!("both are of the same space"),
        }
        let angle = rewards.len() as f32 / 3.0;
        let action = match id {
            "CartPole-v1" => vec![(rewards.len() % 2) as f32],
            _ => vec![angle.sin(), 0.5 + angle.cos() / 2.0, 0.0],
        };
        let step = env.step(&action, observation.as_mut())?;
        actions.extend(action);
        rewards.push(step.reward as f32);
        terminated = step.terminated;
    }
    Ok(Rollout {
        seed,
        policy: "example".to_owned(),
        observations,
        actions: Array2::from_shape_vec((rewards.len(), spec.action_space.width()), actions)?,
        rewards,
        terminated,
        truncated: !terminated,
        environment: spec,
    })
}

/// The rollout with made-up latents.
fn encode(rollout: Rollout) -> EncodedRollout {
    let value = |(step, i): (usize, usize)| (step as f32 + 1.0) / (i as f32 - 7.3);
    let latents = Array2::from_shape_fn((rollout.steps(), 32), value);
    EncodedRollout {
        std_devs: latents.mapv(|mean| (0.1 * mean).exp()),
        extras: [("halves".to_owned(), latents.slice(s![.., ..3]).mapv(|mean| 0.5 * mean))].into(),
        latents,
        encoder: digest_bytes(b"example"),
        environment: rollout.environment,
        seed: rollout.seed,
        policy: rollout.policy,
        actions: rollout.actions,
        rewards: rollout.rewards,
        terminated: rollout.terminated,
        truncated: rollout.truncated,
    }
}

fn raw_arrays(rollout: &Rollout) -> Value {
    let mut shape = vec![rollout.steps()];
    shape.extend(rollout.environment.observation_space.shape());
    let observations = match &rollout.observations {
        ObservationBuffer::U8(v) => json!({"shape": shape, "type": "uint8", "values": v}),
        ObservationBuffer::F32(v) => json!({"shape": shape, "type": "float32", "values": v}),
    };
    json!({
        "observations": observations,
        "actions": floats(&rollout.actions),
        "rewards": rewards(&rollout.rewards),
    })
}

fn encoded_arrays(rollout: &EncodedRollout) -> Value {
    json!({
        "observations": floats(&rollout.latents),
        "observation_std_devs": floats(&rollout.std_devs),
        "observation_extras/halves": floats(&rollout.extras["halves"]),
        "actions": floats(&rollout.actions),
        "rewards": rewards(&rollout.rewards),
    })
}

fn floats(values: &Array2<f32>) -> Value {
    let flat: Vec<f32> = values.iter().copied().collect();
    json!({"shape": values.shape(), "type": "float32", "values": flat})
}

fn rewards(values: &[f32]) -> Value {
    json!({"shape": [values.len(), 1], "type": "float32", "values": values})
}
