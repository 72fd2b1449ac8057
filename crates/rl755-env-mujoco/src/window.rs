//! A window that shows a simulation as it goes on elsewhere: MuJoCo's viewer.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError},
    time::Duration,
};

use mujoco_rs::viewer::MjViewer;
use rl755_env::{EnvError, Scene3d};

use crate::tasks;

/// How long the window waits for a state before it draws all the same, so that it answers the mouse.
const FRAME: Duration = Duration::from_millis(16);

/// Shows the states of the environment `id` (options behind it do not matter), each as
/// [`Scene3d::physics_state`] gives it, until the window is closed or the sender is dropped. Of
/// several that wait, the last is shown.
///
/// It must run in the main thread, and once in a process: windows ask for that.
///
/// # Errors
/// When there is no such environment or no display, or a state has another length than the
/// environment's.
pub fn run_window(id: &str, states: &Receiver<Vec<f64>>) -> Result<(), EnvError> {
    let env = tasks::make(id.split(':').next().unwrap_or(id))?;
    let failed = |message: String| EnvError::Other { env: id.to_owned(), message };
    let width = env.physics_state().len();
    let mut simulation = env.into_simulation();
    let positions = simulation.qpos().len();
    let mut viewer = MjViewer::launch_passive(simulation.model(), 0)
        .map_err(|error| failed(format!("cannot open a window: {error}")))?;
    while viewer.running() {
        match newest(states) {
            Ok(Some(state)) if state.len() == width => {
                let (qpos, qvel) = state.split_at(positions);
                simulation.qpos_mut().copy_from_slice(qpos);
                simulation.qvel_mut().copy_from_slice(qvel);
                simulation.forward();
            }
            Ok(Some(state)) => {
                let got = state.len();
                return Err(failed(format!("a state of {got} numbers; it must have {width}")));
            }
            Ok(None) => {}
            Err(Gone) => return Ok(()),
        }
        viewer.sync_data(&mut simulation);
        viewer.render().map_err(|error| failed(format!("cannot draw: {error}")))?;
    }
    Ok(())
}

/// The sender was dropped.
struct Gone;

/// The last state that was sent, after waiting for one for a frame's time.
fn newest(states: &Receiver<Vec<f64>>) -> Result<Option<Vec<f64>>, Gone> {
    let mut last = match states.recv_timeout(FRAME) {
        Ok(state) => state,
        Err(RecvTimeoutError::Timeout) => return Ok(None),
        Err(RecvTimeoutError::Disconnected) => return Err(Gone),
    };
    loop {
        match states.try_recv() {
            Ok(state) => last = state,
            Err(TryRecvError::Empty | TryRecvError::Disconnected) => return Ok(Some(last)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn the_last_state_is_shown_and_a_dropped_sender_ends_the_window() {
        let (sender, receiver) = channel();
        for value in [1.0, 2.0, 3.0] {
            sender.send(vec![value]).unwrap();
        }
        assert!(matches!(newest(&receiver), Ok(Some(state)) if state == [3.0]));
        drop(sender);
        assert!(newest(&receiver).is_err());
    }
}
