//! What is said on a socket: text messages are JSON, binary ones poses and pictures.
//!
//! A binary message begins with 16 bytes, little-endian: what it is (`u8`: 1 poses, 2 a picture),
//! its view (`u8`), its run (`u16`), the episode, the step (`u32` each) and the return until now
//! (`f32`). Then come 7 numbers (`f32`) for each geom, or a WebP or PNG file.

use std::{sync::Arc, time::SystemTime};

use rl755_env::{Camera, Geom, Scene, Shape};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Bytes;

use super::hub::{Command, Curve, Moment, Shown, Status};

/// The bytes before poses and pictures.
const HEADER_BYTES: usize = 16;
const POSES: u8 = 1;
const PICTURE: u8 = 2;
/// How much of a trouble is told.
const TROUBLE_CHARACTERS: usize = 500;

/// What a browser says. Whatever else it says is ignored.
#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(super) struct Said {
    /// Look at this run; none: at nothing, as a page in a hidden tab does.
    #[serde(deserialize_with = "given")]
    pub(super) run: Option<Option<usize>>,
    /// How many binary messages it has shown since it connected.
    pub(super) seen: Option<u64>,
    pause: Option<bool>,
    speed: Option<f64>,
}

/// Tells `null` from nothing.
fn given<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Option<usize>>, D::Error> {
    Deserialize::deserialize(value).map(Some)
}

impl Said {
    /// What `text` says.
    pub(super) fn read(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// What is asked of the run that the browser looks at.
    pub(super) fn commands(&self) -> impl Iterator<Item = Command> {
        let speed = self.speed.filter(|speed| speed.is_finite());
        let speed = speed.map(|speed| Command::Speed(speed.clamp(0.1, 100.0)));
        self.pause.map(Command::Pause).into_iter().chain(speed)
    }
}

/// The names of all runs.
pub(super) fn runs<'a>(names: impl Iterator<Item = &'a str>) -> String {
    json!({ "runs": names.collect::<Vec<_>>() }).to_string()
}

/// What is to be seen of a run.
pub(super) fn shown(run: usize, shown: &Shown) -> Arc<str> {
    let scene = shown.scene.as_ref().map(scene);
    json!({ "shown": {
        "run": run, "environment": shown.environment, "scene": scene, "views": shown.views,
    }})
    .to_string()
    .into()
}

fn scene(scene: &Scene) -> Value {
    let geoms: Vec<_> = scene.geoms.iter().map(geom).collect();
    let cameras: Vec<_> = scene.cameras.iter().map(camera).collect();
    json!({ "geoms": geoms, "cameras": cameras, "followed": scene.followed })
}

fn geom(geom: &Geom) -> Value {
    let (shape, size): (_, &[f32]) = match &geom.shape {
        Shape::Plane { half } => ("plane", half),
        Shape::Sphere { radius } => ("sphere", &[*radius]),
        Shape::Capsule { radius, half_length } => ("capsule", &[*radius, *half_length]),
        Shape::Ellipsoid { radii } => ("ellipsoid", radii),
        Shape::Cylinder { radius, half_length } => ("cylinder", &[*radius, *half_length]),
        Shape::Box { half } => ("box", half),
    };
    json!({
        "name": geom.name, "shape": shape, "size": size,
        "rgba": geom.rgba, "checkered": geom.checkered,
    })
}

fn camera(camera: &Camera) -> Value {
    json!({
        "name": camera.name, "lookat": camera.lookat, "distance": camera.distance,
        "azimuth": camera.azimuth, "elevation": camera.elevation, "follows": camera.follows,
    })
}

/// How a run is doing at `now`.
pub(super) fn status(run: usize, status: &Status, now: SystemTime) -> String {
    let snapshot = status.snapshot.map(|snapshot| {
        // A clock that was set back makes no policy older than it is.
        let age = now.duration_since(snapshot.made).unwrap_or_default();
        json!({ "step": snapshot.step, "age": age.as_secs_f64() })
    });
    let trouble = status.trouble.as_ref();
    let trouble = trouble.map(|t| t.chars().take(TROUBLE_CHARACTERS).collect::<String>());
    json!({ "status": {
        "run": run, "snapshot": snapshot, "paused": status.paused, "speed": status.speed,
        "finished": status.finished, "max_episode_steps": status.max_episode_steps,
        "trouble": trouble,
    }})
    .to_string()
}

/// What is new in the curves of a run for one who has `known`: for each curve its values from
/// the first on that differs.
pub(super) fn curves(run: usize, curves: &[Arc<Curve>], known: &[Arc<Curve>]) -> String {
    let names: Vec<_> = curves.iter().map(|curve| &curve.name).collect();
    let parts = curves.iter().enumerate().filter_map(|(index, curve)| {
        let length = curve.x.len().min(curve.y.len());
        let from = known.get(index).map_or(0, |known| same_points(known, curve));
        let same = known.get(index).is_some_and(|known| known.name == curve.name)
            && from == length
            && known[index].x.len() == curve.x.len();
        // Seven digits are more than a picture shows.
        let y: Vec<_> = curve.y[from.min(length)..length].iter().map(|y| *y as f32).collect();
        let x = &curve.x[from.min(length)..length];
        (!same).then(|| json!({ "curve": index, "from": from, "x": x, "y": y }))
    });
    json!({ "curves": { "run": run, "names": names, "parts": parts.collect::<Vec<_>>() } })
        .to_string()
}

/// How many points at the beginning are the same; none if the curves are of other things.
fn same_points(known: &Curve, curve: &Curve) -> usize {
    if known.name != curve.name {
        return 0;
    }
    let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits();
    let x = known.x.iter().zip(&curve.x).take_while(|pair| same(*pair)).count();
    let y = known.y.iter().zip(&curve.y).take_while(|pair| same(*pair)).count();
    x.min(y)
}

/// Where the geoms are.
pub(super) fn poses(run: usize, at: Moment, poses: &[[f32; 7]]) -> Bytes {
    let mut bytes = header(POSES, 0, run, at, poses.len() * 28);
    bytes.extend(poses.iter().flatten().flat_map(|number| number.to_le_bytes()));
    bytes.into()
}

/// A picture.
pub(super) fn frame(run: usize, view: usize, at: Moment, picture: &[u8]) -> Bytes {
    let mut bytes = header(PICTURE, view, run, at, picture.len());
    bytes.extend_from_slice(picture);
    bytes.into()
}

fn header(kind: u8, view: usize, run: usize, at: Moment, more: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + more);
    bytes.extend([kind, u8::try_from(view).unwrap_or(u8::MAX)]);
    bytes.extend(u16::try_from(run).unwrap_or(u16::MAX).to_le_bytes());
    bytes.extend(at.episode.to_le_bytes());
    bytes.extend(at.step.to_le_bytes());
    bytes.extend(at.episode_return.to_le_bytes());
    bytes
}
