//! Variants of CarRacing against Gymnasium's (`golden/car_racing_variants.py`), bit for bit, and
//! the rules that are ours.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{io::Cursor, num::NonZeroU32};

use rl755_env::{
    CarRacing, CarRacingConfig, Env, EnvError, EnvRegistry, ObservationBuffer, ObservationMut,
    Space, Step,
};
use serde::Deserialize;

const SIZE: usize = 96;
/// Steps from one recorded hash to the next.
const EVERY: usize = 25;
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    config: CarRacingConfig,
    seed: String,
    episodes: Vec<Episode>,
}

#[derive(Deserialize)]
struct Episode {
    /// Road, field, grass.
    colors: [[u8; 3]; 3],
    road: String,
    /// A digit for each step.
    actions: String,
    hashes: Vec<String>,
    last: String,
    terminated: bool,
    road_after: String,
    /// After how many steps there is a frame.
    frames: Vec<usize>,
}

fn cases() -> Vec<Case> {
    let golden: Golden =
        serde_json::from_str(include_str!("golden/car_racing_variants.json")).unwrap();
    golden.cases
}

fn fnv(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |s, b| (s ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

fn hash_step(state: u64, env: &CarRacing, step: &Step) -> u64 {
    let now = env.state().unwrap();
    let hull = now.hull;
    let floats = [hull.position[0], hull.position[1], hull.angle].into_iter().chain([
        hull.linear_velocity[0],
        hull.linear_velocity[1],
        hull.angular_velocity,
    ]);
    let state = floats.fold(state, |s, v| fnv(s, &v.to_le_bytes()));
    let state = fnv(fnv(state, &step.reward.to_le_bytes()), &now.reward.to_le_bytes());
    let state = fnv(state, &u32::from(step.terminated).to_le_bytes());
    fnv(state, &(now.tiles_visited as u32).to_le_bytes())
}

fn road_hash(env: &CarRacing) -> String {
    let state = env.road().iter().fold(FNV_START, |state, polygon| {
        let corners = polygon.corners.as_flattened();
        let state = corners.iter().fold(state, |s, v| fnv(s, &v.to_le_bytes()));
        fnv(state, &polygon.color)
    });
    format!("{state:016x}")
}

/// Replays every case; gives each recorded frame's counterpart.
fn replay() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    let mut frame = vec![0; SIZE * SIZE * 3];
    for case in cases() {
        let mut env = CarRacing::new(case.config.clone()).unwrap();
        for (index, episode) in case.episodes.iter().enumerate() {
            let at = format!("{:?}, seed {}, episode {index}", case.config, case.seed);
            let seed = (index == 0).then(|| case.seed.parse().unwrap());
            env.reset(seed, ObservationMut::U8(&mut frame)).unwrap();
            let colors = env.colors().unwrap();
            assert_eq!([colors.road, colors.field, colors.grass], episode.colors, "{at}");
            assert_eq!(road_hash(&env), episode.road, "{at}");
            let mut state = FNV_START;
            let mut last = Step::default();
            for (t, action) in episode.actions.bytes().enumerate() {
                if episode.frames.contains(&t) {
                    frames.push(frame.clone());
                }
                let action = f32::from(action - b'0');
                last = env.step(&[action], ObservationMut::U8(&mut frame)).unwrap();
                state = hash_step(state, &env, &last);
                if let Some(theirs) = episode.hashes.get(t / EVERY).filter(|_| t % EVERY == 24) {
                    assert_eq!(format!("{state:016x}"), *theirs, "{at}, up to step {t}");
                }
            }
            if episode.frames.contains(&episode.actions.len()) {
                frames.push(frame.clone());
            }
            assert_eq!(format!("{state:016x}"), episode.last, "{at}");
            assert_eq!((last.terminated, last.truncated), (episode.terminated, false), "{at}");
            assert_eq!(road_hash(&env), episode.road_after, "{at}");
        }
    }
    frames
}

#[test]
fn every_variant_plays_as_gymnasiums_does() {
    replay();
}

#[test]
fn recordings_cover_what_they_must() {
    let cases = cases();
    let episodes = || cases.iter().flat_map(|case| &case.episodes);
    for action in "01234".chars() {
        assert!(episodes().any(|e| e.actions.contains(action)), "{action}");
    }
    let drawn = cases.iter().filter(|c| c.config.domain_randomize);
    assert!(drawn.clone().count() >= 4 && drawn.clone().any(|c| c.episodes.len() >= 4));
    // Tile 0, reached after the others, closes the lap.
    let closed = |c: &Case| c.config.random_start && c.episodes[0].terminated;
    assert!(cases.iter().any(closed));
}

#[test]
fn frames_in_drawn_colours_are_gymnasiums_within_half_a_level_on_average() {
    let bytes = include_bytes!("golden/car_racing_variants.png");
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let count = reader.next_frame(&mut pixels).unwrap().width as usize / SIZE;
    let frames = replay();
    assert_eq!(frames.len(), count);
    for (index, ours) in frames.iter().enumerate() {
        let theirs = pixels
            .chunks_exact(count * SIZE * 3)
            .flat_map(|row| &row[index * SIZE * 3..][..SIZE * 3]);
        let sum: f64 = ours.iter().zip(theirs).map(|(a, b)| f64::from(a.abs_diff(*b))).sum();
        let mean = sum / ours.len() as f64;
        assert!(mean < 0.5, "frame {index}: the mean difference is {mean:.3}");
    }
}

fn made(id: &str) -> (Box<dyn Env>, ObservationBuffer) {
    let env = EnvRegistry::with_builtin().make(id).unwrap();
    let observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
    (env, observation)
}

fn refusal(id: &str) -> String {
    match EnvRegistry::with_builtin().make(id) {
        Err(error) => error.to_string(),
        Ok(env) => panic!("{} was made", env.spec().id),
    }
}

#[test]
fn options_behind_the_id_choose_the_variant() {
    let id = "CarRacing-v3:continuous=false,domain_randomize=true,patience_steps=7,\
              random_start=true,skip_zoom=true";
    let (mut env, mut observation) = made(id);
    assert_eq!(env.spec().id, id);
    assert_eq!(env.spec().action_space, Space::Discrete { n: 5 });
    for rule in ["after 7 steps without", "random tile", "new colours", "near from the start"] {
        assert!(env.spec().rules.contains(rule), "{rule}: {}", env.spec().rules);
    }
    env.reset(Some(1), observation.as_mut()).unwrap();
    env.step(&[4.0], observation.as_mut()).unwrap();
}

#[test]
fn wrong_options_are_refused() {
    let cases = [
        ("CarRacing-v3:lap_complete_percent=95", "is 95; it is a share from 0 to 1"),
        ("CarRacing-v3:patience_steps=0", "expected a nonzero u32"),
        ("CarRacing-v3:id=Mine", "unknown field `id`"),
        ("CarRacing-v0:lap_complete_percent=0.5", "CarRacing-v3 has laps"),
    ];
    for (id, reason) in cases {
        assert!(refusal(id).contains(reason), "{}", refusal(id));
    }
}

#[test]
fn laps_do_not_close_in_the_original() {
    let (mut v0, mut frame_v0) = made("CarRacing-v0");
    let (mut v3, mut frame_v3) = made("CarRacing-v3:lap_complete_percent=0");
    assert!(!v0.spec().rules.contains("lap"), "{}", v0.spec().rules);
    assert_eq!(v0.spec().max_episode_steps, Some(1000));
    v0.reset(Some(5), frame_v0.as_mut()).unwrap();
    v3.reset(Some(5), frame_v3.as_mut()).unwrap();
    let original = v0.step(&[0.1, 1.0, 0.0], frame_v0.as_mut()).unwrap();
    let lap = v3.step(&[0.1, 1.0, 0.0], frame_v3.as_mut()).unwrap();
    assert_eq!((original.terminated, lap.terminated), (false, true));
    assert_eq!(original.reward, lap.reward);
    assert_eq!(frame_v0, frame_v3);
}

#[test]
fn without_zoom_the_first_picture_is_near() {
    let first = |id| {
        let (mut env, mut observation) = made(id);
        env.reset(Some(2), observation.as_mut()).unwrap();
        observation
    };
    let standing = |id| {
        let (mut env, mut observation) = made(id);
        env.reset(Some(2), observation.as_mut()).unwrap();
        for _ in 0..49 {
            env.step(&[0.0; 3], observation.as_mut()).unwrap();
        }
        observation
    };
    let near = first("CarRacing-v3:skip_zoom=true");
    assert_ne!(near, first("CarRacing-v3"));
    // A car that does not move has shown the same after a second, but for the score's -005.
    let (ObservationBuffer::U8(near), ObservationBuffer::U8(later)) =
        (near, standing("CarRacing-v3"))
    else {
        panic!("frames are bytes")
    };
    let view = 84 * SIZE * 3;
    let differing = near[..view].iter().zip(&later[..view]).filter(|(a, b)| a.abs_diff(**b) > 12);
    assert!(differing.count() < 60);
}

#[test]
fn patience_ends_an_episode_so_many_steps_after_the_last_new_tile() {
    const PATIENCE: u32 = 30;
    let config =
        CarRacingConfig { patience_steps: NonZeroU32::new(PATIENCE), ..CarRacingConfig::default() };
    let mut env = CarRacing::new(config).unwrap();
    let mut frame = vec![0; SIZE * SIZE * 3];
    for seed in 0..6 {
        env.reset(Some(seed), ObservationMut::U8(&mut frame)).unwrap();
        let mut visited = env.state().unwrap().tiles_visited;
        let mut waited = 0;
        loop {
            let step = env.step(&[0.0, 0.3, 0.0], ObservationMut::U8(&mut frame)).unwrap();
            let now = env.state().unwrap().tiles_visited;
            waited = if now > visited { 0 } else { waited + 1 };
            visited = now;
            assert_eq!((step.terminated, step.truncated), (false, waited == PATIENCE));
            if step.truncated {
                break;
            }
        }
        let after = env.step(&[0.0; 3], ObservationMut::U8(&mut frame));
        assert!(matches!(after, Err(EnvError::ResetNeeded { .. })), "{after:?}");
    }
}
