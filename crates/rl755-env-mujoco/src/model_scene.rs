//! A model's geoms as a [`Scene`], and where they are.

use mujoco_rs::prelude::{MjModel, MjtGeomBase, MjtObjBase, MjtTexture};
use rl755_env::{Camera, Geom, Scene, Shape};

use crate::task::{Picture, Simulation, View};

/// Geoms of the groups from here on are hidden, as MuJoCo's viewers hide them.
const HIDDEN_GROUPS: i32 = 3;
/// The colour of geoms that were given none.
const NO_COLOR: [f32; 4] = [0.5, 0.5, 0.5, 1.0];
/// Where the texture of a colour is among a material's textures.
const COLOR_ROLE: usize = 1;

/// The scene of a model.
pub(crate) struct ModelScene {
    scene: Scene,
    /// The model's numbers of its geoms.
    shown: Vec<usize>,
}

impl ModelScene {
    /// What `simulation` shows, looked at as `view` says.
    pub(crate) fn new(simulation: &Simulation, view: View) -> Self {
        let model = simulation.model();
        let (mut geoms, mut shown, mut followed) = (Vec::new(), Vec::new(), None);
        for (index, &group) in model.geom_group().iter().enumerate() {
            let Some(shape) = shape(model, index).filter(|_| group < HIDDEN_GROUPS) else {
                continue;
            };
            if followed.is_none() && model.geom_bodyid()[index] == view.followed as i32 {
                followed = Some(geoms.len());
            }
            let name = model.id_to_name(MjtObjBase::mjOBJ_GEOM, index).unwrap_or_default();
            let (rgba, checkered) = color(model, index);
            geoms.push(Geom { name: name.to_owned(), shape, rgba, checkered });
            shown.push(index);
        }
        let cameras = cameras(simulation, view);
        Self { scene: Scene { geoms, cameras, followed: followed.unwrap_or(0) }, shown }
    }

    pub(crate) fn scene(&self) -> &Scene {
        &self.scene
    }

    pub(crate) fn poses(&self, simulation: &Simulation, poses: &mut Vec<[f32; 7]>) {
        let (positions, turns) = (simulation.geom_xpos(), simulation.geom_xmat());
        poses.clear();
        poses.extend(self.shown.iter().map(|&geom| {
            let ([x, y, z], [w, i, j, k]) = (positions[geom], quaternion(&turns[geom]));
            [x, y, z, w, i, j, k].map(|value| value as f32)
        }));
    }
}

fn shape(model: &MjModel, geom: usize) -> Option<Shape> {
    let [a, b, c] = model.geom_size()[geom].map(|size| size as f32);
    Some(match model.geom_type()[geom] {
        MjtGeomBase::mjGEOM_PLANE => Shape::Plane { half: [a, b] },
        MjtGeomBase::mjGEOM_SPHERE => Shape::Sphere { radius: a },
        MjtGeomBase::mjGEOM_CAPSULE => Shape::Capsule { radius: a, half_length: b },
        MjtGeomBase::mjGEOM_ELLIPSOID => Shape::Ellipsoid { radii: [a, b, c] },
        MjtGeomBase::mjGEOM_CYLINDER => Shape::Cylinder { radius: a, half_length: b },
        MjtGeomBase::mjGEOM_BOX => Shape::Box { half: [a, b, c] },
        _ => return None,
    })
}

/// A geom's colour, and whether it is checkered.
fn color(model: &MjModel, geom: usize) -> ([f32; 4], bool) {
    let own = model.geom_rgba()[geom];
    let Ok(material) = usize::try_from(model.geom_matid()[geom]) else { return (own, false) };
    let texture = usize::try_from(model.mat_texid()[material][COLOR_ROLE]);
    let flat = texture.is_ok_and(|texture| model.tex_type()[texture] == MjtTexture::mjTEXTURE_2D);
    (if own == NO_COLOR { model.mat_rgba()[material] } else { own }, flat)
}

/// Cameras that people want, of which the first looks down as pictures do; those where something moves
/// about follow it. The picture's camera, which Gymnasium leaves where it is, comes last.
fn cameras(simulation: &Simulation, view: View) -> Vec<Camera> {
    let picture = view.picture;
    let camera = |name: &str, azimuth, elevation: f64| Camera {
        name: name.to_owned(),
        lookat: view.middle.map(|x| x as f32),
        distance: view.distance as f32,
        azimuth,
        elevation: elevation as f32,
        follows: view.followed != 0,
    };
    let (other, turned) = if view.followed == 0 { ("corner", 135.0) } else { ("behind", 0.0) };
    vec![
        camera("side", 90.0, picture.elevation),
        camera(other, turned, -20.0),
        camera("above", 90.0, -89.0),
        Camera {
            lookat: picture.lookat(simulation).map(|x| x as f32),
            distance: picture.distance(simulation) as f32,
            follows: false,
            ..camera("picture", 90.0, picture.elevation)
        },
    ]
}

impl Picture {
    /// The distance, as it is or the model's.
    pub(crate) fn distance(&self, simulation: &Simulation) -> f64 {
        self.distance.unwrap_or(simulation.model().stat().extent)
    }

    /// The middle, as it is or the geoms'.
    pub(crate) fn lookat(&self, simulation: &Simulation) -> [f64; 3] {
        self.lookat.unwrap_or_else(|| std::array::from_fn(|axis| median(simulation, axis)))
    }
}

/// As `numpy.median` of the geoms' positions along an axis.
fn median(simulation: &Simulation, axis: usize) -> f64 {
    let mut values: Vec<f64> = simulation.geom_xpos().iter().map(|at| at[axis]).collect();
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => 0.0,
        0 => (values[half - 1] + values[half]) / 2.0,
        _ => values[half],
    }
}

/// A rotation matrix, row by row, as a quaternion `[w, x, y, z]`: Shepperd's method, which divides
/// by the greatest of the four.
fn quaternion(m: &[f64; 9]) -> [f64; 4] {
    let [a, b, c] = [m[0], m[4], m[8]];
    let squares = [1.0 + a + b + c, 1.0 + a - b - c, 1.0 - a + b - c, 1.0 - a - b + c];
    let [wx, wy, wz] = [m[7] - m[5], m[2] - m[6], m[3] - m[1]];
    let [xy, xz, yz] = [m[1] + m[3], m[2] + m[6], m[5] + m[7]];
    let greatest = squares.iter().copied().fold(f64::MIN, f64::max);
    let scale = 0.5 / greatest.sqrt();
    let row = match squares.iter().position(|&square| square == greatest) {
        Some(0) => [greatest, wx, wy, wz],
        Some(1) => [wx, greatest, xy, xz],
        Some(2) => [wy, xy, greatest, yz],
        _ => [wz, xz, yz, greatest],
    };
    row.map(|value| value * scale)
}
