//! CarRacing-v3 against Gymnasium's: every recorded step, bit for bit.
//!
//! tests/golden/car_racing.py made the recordings and describes their layout.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use rl755_env::{BodyState, CarRacing, CarRacingConfig, CarRacingState, Env, ObservationMut, Step};
use serde::Deserialize;

const ACTION_BYTES: usize = 3;
const GROUPS: usize = 8;
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

#[derive(Deserialize)]
struct Golden {
    versions: serde_json::Value,
    groups: [String; GROUPS],
    cases: Vec<Case>,
}

/// One environment that was reset with a seed, then stepped, and reset without one after each
/// episode.
#[derive(Deserialize)]
struct Case {
    policy: String,
    seed: String,
    steps: usize,
    first_track_attempt_fails: bool,
    episodes: Vec<Episode>,
    /// The groups' bytes after the last step, in hexadecimal.
    last: [String; GROUPS],
    /// The same after each of the first steps, for some cases.
    full: Vec<[String; GROUPS]>,
}

#[derive(Deserialize)]
struct Episode {
    first_step: usize,
    tiles: usize,
    road: String,
    end: Option<String>,
}

fn golden() -> (Golden, &'static [u8]) {
    let golden = serde_json::from_str(include_str!("golden/car_racing.json")).unwrap();
    (golden, include_bytes!("golden/car_racing.bin"))
}

/// A group's bytes, with the name of each field and where it ends.
#[derive(Default)]
struct Group {
    bytes: Vec<u8>,
    fields: Vec<(usize, String)>,
}

impl Group {
    fn put(&mut self, name: impl Into<String>, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.fields.push((self.bytes.len(), name.into()));
    }

    fn place(&mut self, name: &str, body: &BodyState) {
        self.put(format!("{name}.position.x"), &body.position[0].to_le_bytes());
        self.put(format!("{name}.position.y"), &body.position[1].to_le_bytes());
        self.put(format!("{name}.angle"), &body.angle.to_le_bytes());
    }

    fn motion(&mut self, name: &str, body: &BodyState) {
        self.put(format!("{name}.linear_velocity.x"), &body.linear_velocity[0].to_le_bytes());
        self.put(format!("{name}.linear_velocity.y"), &body.linear_velocity[1].to_le_bytes());
        self.put(format!("{name}.angular_velocity"), &body.angular_velocity.to_le_bytes());
    }

    /// The first field that differs from Gymnasium's bytes, with both values in hexadecimal.
    fn difference(&self, theirs: &str) -> Option<String> {
        let ours = hex(&self.bytes);
        let mut start = 0;
        for (end, name) in &self.fields {
            let range = 2 * start..2 * end;
            if ours[range.clone()] != theirs[range.clone()] {
                let (ours, theirs) = (&ours[range.clone()], &theirs[range]);
                return Some(format!("{name}: {ours} instead of {theirs} (little-endian bits)"));
            }
            start = *end;
        }
        assert_eq!(ours.len(), theirs.len(), "the recording has other fields");
        None
    }
}

fn groups(env: &CarRacing, step: &Step) -> [Group; GROUPS] {
    let CarRacingState { hull, wheels, time, reward, tiles_visited } = env.state().unwrap();
    let [mut hull_place, mut hull_motion, mut places, mut motions, mut rolling, mut under, ..] =
        <[Group; GROUPS]>::default();
    hull_place.place("hull", &hull);
    hull_motion.motion("hull", &hull);
    for (i, wheel) in wheels.iter().enumerate() {
        let name = format!("wheels[{i}]");
        places.place(&name, &wheel.body);
        motions.motion(&name, &wheel.body);
        rolling.put(format!("{name}.joint_angle"), &wheel.joint_angle.to_le_bytes());
        rolling.put(format!("{name}.omega"), &wheel.omega.to_le_bytes());
        rolling.put(format!("{name}.phase"), &wheel.phase.to_le_bytes());
        rolling.put(format!("{name}.gas"), &wheel.gas.to_le_bytes());
        under.put(format!("{name}.tiles"), &(wheel.tiles as u32).to_le_bytes());
    }
    let [mut rewards, mut tiles] = <[Group; 2]>::default();
    rewards.put("step.reward", &step.reward.to_le_bytes());
    rewards.put("reward", &reward.to_le_bytes());
    rewards.put("time", &time.to_le_bytes());
    rewards.put("terminated", &u32::from(step.terminated).to_le_bytes());
    let grey = env.road().iter().filter(|p| p.color[0] == 102).count();
    tiles.put("tiles_visited", &(tiles_visited as u32).to_le_bytes());
    tiles.put("tiles in the road's colour", &(grey as u32).to_le_bytes());
    [hull_place, hull_motion, places, motions, rolling, under, rewards, tiles]
}

fn fnv(state: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(state, |s, b| (s ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn road_hash(env: &CarRacing) -> String {
    let mut state = FNV_START;
    for point in env.track() {
        for value in [point.alpha, point.beta, point.x, point.y] {
            state = fnv(state, &value.to_le_bytes());
        }
    }
    for polygon in env.road() {
        for value in polygon.corners.as_flattened() {
            state = fnv(state, &value.to_le_bytes());
        }
        state = fnv(state, &polygon.color);
    }
    format!("{state:016x}")
}

fn action(bytes: &[u8]) -> [f32; 3] {
    let steer = f32::from(bytes[0] as i8) / 127.0;
    [steer, f32::from(bytes[1]) / 255.0, f32::from(bytes[2]) / 255.0]
}

/// Replays a case; what differs first, if anything does.
fn replay(mut env: CarRacing, case: &Case, names: &[String], blob: &[u8]) -> Result<(), String> {
    let (actions, checks) = blob.split_at(case.steps * ACTION_BYTES);
    let mut frame = vec![0; 96 * 96 * 3];
    let mut hashes = [FNV_START; GROUPS];
    let mut episodes = case.episodes.iter();
    let mut episode = episodes.next();
    for t in 0..case.steps {
        let at = |what: String| format!("{} {}, step {t}: {what}", case.policy, case.seed);
        if let Some(begun) = episode.filter(|e| e.first_step == t) {
            let seed = (t == 0).then(|| case.seed.parse().unwrap());
            env.reset(seed, ObservationMut::U8(&mut frame)).unwrap();
            let got = (env.track().len(), road_hash(&env));
            if got != (begun.tiles, begun.road.clone()) {
                return Err(at(format!("tiles and hash of the road are {got:?}")));
            }
        }
        let action = action(&actions[t * ACTION_BYTES..]);
        let step = env
            .step(&action, ObservationMut::U8(&mut frame))
            .map_err(|error| at(error.to_string()))?;
        let groups = groups(&env, &step);
        if let Some(full) = case.full.get(t) {
            for (group, theirs) in groups.iter().zip(full) {
                group.difference(theirs).map_or(Ok(()), |d| Err(at(d)))?;
            }
        }
        for (i, group) in groups.iter().enumerate() {
            hashes[i] = fnv(hashes[i], &group.bytes);
            if hashes[i] as u8 != checks[t * GROUPS + i] {
                let fields: Vec<_> = group.fields.iter().map(|f| f.1.as_str()).collect();
                return Err(at(format!("`{}` differs first, one of {fields:?}", names[i])));
            }
            if t + 1 == case.steps {
                group.difference(&case.last[i]).map_or(Ok(()), |d| Err(at(d)))?;
            }
        }
        if step.terminated {
            if episode.and_then(|e| e.end.as_ref()).is_none() {
                return Err(at("the episode ended".to_owned()));
            }
            episode = episodes.next();
        }
    }
    Ok(())
}

#[test]
fn every_recorded_step_equals_gymnasiums() {
    let (golden, mut blob) = golden();
    let mut failures = Vec::new();
    for case in &golden.cases {
        let (mine, rest) = blob.split_at(case.steps * (ACTION_BYTES + GROUPS));
        // No lap closes in these: by the original's rule the episodes are the same.
        for make in [CarRacing::new, CarRacing::original] {
            let env = make(CarRacingConfig::default()).unwrap();
            failures.extend(replay(env, case, &golden.groups, mine).err());
        }
        blob = rest;
    }
    assert!(blob.is_empty(), "car_racing.bin is longer than its cases");
    let versions = &golden.versions;
    assert!(failures.is_empty(), "differs from {versions}:\n{}", failures.join("\n"));
}

#[test]
fn recordings_cover_what_they_must() {
    let cases = golden().0.cases;
    let ends = |end| {
        cases.iter().flat_map(|c| &c.episodes).filter(|e| e.end.as_deref() == Some(end)).count()
    };
    assert!(cases.len() >= 20 && cases.iter().all(|c| c.steps >= 1000));
    assert!(ends("lap") >= 3, "full laps");
    assert!(ends("left the field") >= 3, "leaving the field");
    assert!(cases.iter().any(|c| c.first_track_attempt_fails));
    assert!(cases.iter().any(|c| c.episodes.len() > 1), "a second episode");
}
