//! CarRacing at the other end of a pipe, for `parity/car_racing.py`, which compares it with
//! Gymnasium's.
//!
//! Standard input holds commands, a letter with what belongs to it; numbers are little-endian:
//!
//! - `m`, a length of 4 bytes and an id: makes that environment;
//! - `r` and a seed of 8 bytes: resets; the answer is the frame, `[96, 96, 3]`;
//! - `n`: resets without a seed, likewise;
//! - `s`, a length of 4 bytes and so many floats of 4 bytes: steps; the answer is the frame, the
//!   reward (8 bytes) and 1 or 0 for whether the episode terminated;
//! - `p`: the answer is the picture for people, `[400, 600, 3]`;
//! - `b`: the answer is how many bytes of memory an environment takes, in 8 bytes.

use std::{
    error::Error,
    fs,
    io::{BufWriter, ErrorKind, Read, Write, stdin, stdout},
};

use rl755_env::{Env, EnvRegistry, ObservationBuffer};

/// Environments made to see what one takes.
const CROWD: u64 = 128;
/// Steps of each of them.
const CROWD_STEPS: usize = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let (mut input, mut output) = (stdin().lock(), BufWriter::new(stdout().lock()));
    let mut id = "CarRacing-v3".to_owned();
    let (mut env, mut frame) = make(&id)?;
    loop {
        let [command] = match read::<1>(&mut input) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        };
        match command {
            b'm' => {
                let mut bytes = vec![0; read_length(&mut input)?];
                input.read_exact(&mut bytes)?;
                id = String::from_utf8(bytes)?;
                (env, frame) = make(&id)?;
            }
            b'r' | b'n' => {
                let seed = match command {
                    b'r' => Some(u64::from_le_bytes(read(&mut input)?)),
                    _ => None,
                };
                env.reset(seed, frame.as_mut())?;
                output.write_all(bytes(&frame)?)?;
            }
            b's' => {
                let action = (0..read_length(&mut input)?)
                    .map(|_| Ok(f32::from_le_bytes(read(&mut input)?)))
                    .collect::<Result<Vec<f32>, std::io::Error>>()?;
                let step = env.step(&action, frame.as_mut())?;
                output.write_all(bytes(&frame)?)?;
                output.write_all(&step.reward.to_le_bytes())?;
                output.write_all(&[u8::from(step.terminated)])?;
            }
            b'p' => {
                let picture = env.render()?.ok_or("no picture for people")?;
                output.write_all(&picture.pixels)?;
            }
            b'b' => output.write_all(&memory_of_one(&id)?.to_le_bytes())?,
            other => return Err(format!("no such command: {other}").into()),
        }
        output.flush()?;
    }
}

fn make(id: &str) -> Result<(Box<dyn Env>, ObservationBuffer), Box<dyn Error>> {
    let env = EnvRegistry::with_builtin().make(id)?;
    let frame = ObservationBuffer::zeros(&env.spec().observation_space, 1);
    Ok((env, frame))
}

/// By how much this process grows with each environment that has been stepped, frame included.
fn memory_of_one(id: &str) -> Result<u64, Box<dyn Error>> {
    let before = resident_bytes()?;
    let mut crowd = Vec::new();
    for seed in 0..CROWD {
        let (mut env, mut frame) = make(id)?;
        env.reset(Some(seed), frame.as_mut())?;
        let idle = vec![0.0; env.spec().action_space.width()];
        for _ in 0..CROWD_STEPS {
            env.step(&idle, frame.as_mut())?;
        }
        crowd.push((env, frame));
    }
    Ok(resident_bytes()?.saturating_sub(before) / CROWD)
}

/// Memory of this process in use, as Linux counts it.
fn resident_bytes() -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(1024 * line.trim().trim_end_matches(" kB").parse::<u64>()?)
}

fn bytes(frame: &ObservationBuffer) -> Result<&[u8], Box<dyn Error>> {
    match frame {
        ObservationBuffer::U8(bytes) => Ok(bytes),
        ObservationBuffer::F32(_) => Err("frames are bytes".into()),
    }
}

fn read<const N: usize>(input: &mut impl Read) -> Result<[u8; N], std::io::Error> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_length(input: &mut impl Read) -> Result<usize, std::io::Error> {
    Ok(u32::from_le_bytes(read(input)?) as usize)
}
