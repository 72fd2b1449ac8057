//! Filming an episode, whatever pictures its environment has.

use std::path::Path;

use rl755_env::{EnvSpec, ObservationRef, RgbFrame};

use super::Video;
use crate::ControllerError;

/// A pixel of an observation becomes a square of this many: frames for networks are small.
const OBSERVATION_SCALE: usize = 4;

/// Steps in a second of an environment's own time: Gymnasium's `render_fps`, and CarRacing's for
/// environments of others.
fn frames_per_second(id: &str) -> f64 {
    match id.split([':', '-']).next() {
        Some("Acrobot") => 15.0,
        Some("Pendulum" | "MountainCar" | "MountainCarContinuous") => 30.0,
        _ => 50.0,
    }
}

/// A film in the making: of the pictures that the environment draws for people or, where it draws
/// none, of observations that are frames.
pub(crate) struct Film {
    spec: EnvSpec,
    video: Option<Video>,
    /// The first thing that went wrong; nothing is filmed after it.
    failure: Option<ControllerError>,
}

impl Film {
    /// Of an environment of `spec`.
    pub(crate) fn new(spec: &EnvSpec) -> Self {
        Self { spec: spec.clone(), video: None, failure: None }
    }

    /// Adds a state: its picture, or its observation.
    pub(crate) fn add(&mut self, picture: Option<RgbFrame>, observation: ObservationRef<'_>) {
        if self.failure.is_none() {
            self.failure = self.try_add(picture, observation).err();
        }
    }

    fn try_add(
        &mut self,
        picture: Option<RgbFrame>,
        observation: ObservationRef<'_>,
    ) -> Result<(), ControllerError> {
        let scale = if picture.is_some() { 1 } else { OBSERVATION_SCALE };
        let frame =
            picture.or_else(|| RgbFrame::of_observation(&self.spec.observation_space, observation));
        let Some(RgbFrame { height, width, pixels }) = frame else {
            let (env, space) = (self.spec.id.clone(), self.spec.observation_space.to_string());
            return Err(ControllerError::NoFrames { env, space });
        };
        let rate = frames_per_second(&self.spec.id);
        let video = || Video::new([height, width], scale, rate);
        self.video.get_or_insert_with(video).push(&pixels)
    }

    /// Writes it to `path`.
    ///
    /// # Errors
    /// When a state could not be filmed, or the file cannot be written; there is none then.
    pub(crate) fn write(self, path: &Path) -> Result<(), ControllerError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.video.map_or(Ok(()), |video| video.write(path))
    }
}
