//! Pictures of a simulation, drawn through EGL in a thread of their own.

use std::{
    mem,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::{self, JoinHandle},
};

use mujoco_rs::{prelude::MjvCamera, renderer::MjRenderer};
use rl755_env::RgbFrame;

use crate::task::{Picture, Simulation};

/// Width and height, as Gymnasium's.
const SIZE: usize = 480;
/// Most geoms in a picture beside the model's.
const MOST_GEOMS: usize = 1000;

/// Draws one environment's states. An OpenGL context belongs to a thread, but an environment may move
/// from one to another: so the renderer has its own, and the state goes there and back.
pub(crate) struct Renderer {
    /// Takes the simulation's place while that is being drawn.
    spare: Option<Simulation>,
    to_draw: Option<SyncSender<Simulation>>,
    drawn: Receiver<(Simulation, Result<RgbFrame, String>)>,
    thread: Option<JoinHandle<()>>,
}

impl Renderer {
    /// A renderer of the model of `simulation`, with the picture's camera.
    pub(crate) fn start(simulation: &Simulation, picture: Picture) -> Result<Self, String> {
        let (to_draw, received) = sync_channel(1);
        let (answer, drawn) = sync_channel(1);
        let camera = camera(simulation, picture);
        let thread = thread::Builder::new()
            .name("mujoco-render".to_owned())
            .spawn(move || serve(&received, &answer, &camera))
            .map_err(|error| format!("cannot start the thread that draws: {error}"))?;
        let model = simulation.model_clone();
        let spare = Simulation::try_new(model).map_err(|error| error.to_string())?;
        Ok(Self { spare: Some(spare), to_draw: Some(to_draw), drawn, thread: Some(thread) })
    }

    /// A picture of the state that `simulation` is in.
    pub(crate) fn draw(&mut self, simulation: &mut Simulation) -> Result<RgbFrame, String> {
        let gone = || "the thread that draws has ended".to_owned();
        let (spare, to_draw) = (self.spare.take().ok_or_else(gone)?, self.to_draw.as_ref());
        let whole = mem::replace(simulation, spare);
        let sent = to_draw.ok_or_else(gone)?.send(whole);
        if let Err(returned) = sent {
            self.spare = Some(mem::replace(simulation, returned.0));
            return Err(gone());
        }
        let (whole, frame) = self.drawn.recv().map_err(|_| gone())?;
        self.spare = Some(mem::replace(simulation, whole));
        frame
    }
}

impl Drop for Renderer {
    fn drop(&mut self) {
        self.to_draw = None;
        if let Some(thread) = self.thread.take() {
            // It has drawn what it was given, and ends.
            let _ = thread.join();
        }
    }
}

fn serve(
    to_draw: &Receiver<Simulation>,
    answer: &SyncSender<(Simulation, Result<RgbFrame, String>)>,
    camera: &MjvCamera,
) {
    let mut renderer = None;
    for mut simulation in to_draw {
        let frame = draw(&mut renderer, &mut simulation, camera);
        if answer.send((simulation, frame)).is_err() {
            return;
        }
    }
}

fn draw(
    renderer: &mut Option<MjRenderer>,
    simulation: &mut Simulation,
    camera: &MjvCamera,
) -> Result<RgbFrame, String> {
    let failed = |error: &dyn std::fmt::Display| {
        format!("cannot draw: {error}; pictures need EGL (on Debian libegl1 and libgl1-mesa-dri)")
    };
    let renderer = match renderer {
        Some(renderer) => renderer,
        None => {
            let made = MjRenderer::new(simulation.model(), SIZE, SIZE, MOST_GEOMS)
                .map_err(|error| failed(&error))?;
            renderer.insert(made.with_camera(camera.clone()))
        }
    };
    renderer.sync_data(simulation).map_err(|error| failed(&error))?;
    renderer.render().map_err(|error| failed(&error))?;
    let pixels = renderer.rgb_flat().ok_or_else(|| failed(&"there are no pixels"))?.to_vec();
    Ok(RgbFrame { height: SIZE, width: SIZE, pixels })
}

/// Gymnasium's camera, which does not move: it looks where the geoms are when the first picture is
/// drawn.
fn camera(simulation: &Simulation, picture: Picture) -> MjvCamera {
    let mut camera = MjvCamera::new_free(simulation.model());
    camera.lookat = picture.lookat(simulation);
    camera.distance = picture.distance(simulation);
    camera.azimuth = 90.0;
    camera.elevation = picture.elevation;
    camera
}
