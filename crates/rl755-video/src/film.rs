//! Filming an episode, whatever pictures its environment has.

use std::path::Path;

use rl755_env::{Env, EnvError, EnvSpec, ObservationRef, RgbFrame};

use crate::{VideoError, video::Video};

/// A pixel of an observation becomes a square of this many: frames for networks are small.
const OBSERVATION_SCALE: usize = 4;

/// A film in the making: of the pictures that the environment draws for people or, where it draws
/// none, of observations that are frames. It runs as fast as reality.
pub struct Film {
    spec: EnvSpec,
    steps_per_second: f64,
    /// It has every so-manieth state.
    stride: usize,
    /// How many states were added, whether filmed or not.
    states: usize,
    video: Option<Video>,
    /// The first thing that went wrong; nothing is filmed after it.
    failure: Option<VideoError>,
}

impl Film {
    /// Of an episode of `env`.
    pub fn new(env: &dyn Env) -> Self {
        let (spec, steps_per_second) = (env.spec().clone(), step_seconds(env).recip());
        Self { spec, steps_per_second, stride: 1, states: 0, video: None, failure: None }
    }

    /// With about `frames_per_second`, at most half as many again, where the episode has more steps.
    #[must_use]
    pub fn thinned(mut self, frames_per_second: f64) -> Self {
        self.stride = (self.steps_per_second / frames_per_second).round().max(1.0) as usize;
        self
    }

    /// Adds a state: its picture, or its observation. What goes wrong is told in the end.
    pub fn add(
        &mut self,
        draw: impl FnOnce() -> Result<Option<RgbFrame>, EnvError>,
        observation: ObservationRef<'_>,
    ) {
        if self.failure.is_none() && self.states.is_multiple_of(self.stride) {
            self.failure = self.try_add(draw, observation).err();
        }
        self.states += 1;
    }

    /// How long it is.
    pub fn seconds(&self) -> f64 {
        self.video.as_ref().map_or(0.0, Video::seconds)
    }

    fn try_add(
        &mut self,
        draw: impl FnOnce() -> Result<Option<RgbFrame>, EnvError>,
        observation: ObservationRef<'_>,
    ) -> Result<(), VideoError> {
        let picture = draw()?;
        let scale = if picture.is_some() { 1 } else { OBSERVATION_SCALE };
        let frame =
            picture.or_else(|| RgbFrame::of_observation(&self.spec.observation_space, observation));
        let Some(RgbFrame { height, width, pixels }) = frame else {
            let (env, space) = (self.spec.id.clone(), self.spec.observation_space.to_string());
            return Err(VideoError::NoFrames { env, space });
        };
        let rate = self.steps_per_second / self.stride as f64;
        let video = || Video::new([height, width], scale, rate);
        self.video.get_or_insert_with(video).push(&pixels)
    }

    /// Writes it to `path`; a film of no states is no file.
    ///
    /// # Errors
    /// When a state could not be filmed, or the file cannot be written; what was there stays then.
    pub fn write(self, path: &Path) -> Result<(), VideoError> {
        self.finish()?.map_or(Ok(()), |video| video.write(path))
    }

    /// Whether all states could be filmed.
    ///
    /// # Errors
    /// When one could not.
    pub fn check(self) -> Result<(), VideoError> {
        self.finish().map(drop)
    }

    fn finish(self) -> Result<Option<Video>, VideoError> {
        self.failure.map_or(Ok(self.video), Err)
    }
}

/// How long a step takes in an environment's own time, from a millisecond to a second: the
/// simulation's, or what Gymnasium's `render_fps` says, and CarRacing's for environments of others.
pub fn step_seconds(env: &dyn Env) -> f64 {
    if let Some(scene) = env.scene() {
        let seconds = scene.step_seconds();
        // Not so where it is NaN.
        return if seconds > 1e-3 { seconds.min(1.0) } else { 1e-3 };
    }
    match env.spec().id.split([':', '-']).next() {
        Some("Acrobot") => 1.0 / 15.0,
        Some("Pendulum" | "MountainCar" | "MountainCarContinuous") => 1.0 / 30.0,
        _ => 1.0 / 50.0,
    }
}

#[cfg(test)]
mod tests {
    use rl755_env::{EnvRegistry, ObservationBuffer};

    use super::*;

    #[test]
    fn steps_take_as_long_as_gymnasium_shows_them() {
        let envs = EnvRegistry::with_builtin();
        let check = |id: &str, rate: f64| {
            assert_eq!(step_seconds(&*envs.make(id).unwrap()), rate.recip(), "{id}");
        };
        check("CartPole-v1", 50.0);
        check("Pendulum-v1", 30.0);
        check("Acrobot-v1", 15.0);
        check("CarRacing-v3:continuous=false", 50.0);
    }

    #[test]
    fn a_thinned_film_draws_less_and_is_as_long() {
        let env = EnvRegistry::with_builtin().make("CartPole-v1").unwrap();
        let observation = ObservationBuffer::zeros(&env.spec().observation_space, 1);
        let length = |mut film: Film| {
            let mut drawn = 0;
            for _ in 0..100 {
                let draw = || {
                    drawn += 1;
                    Ok(Some(RgbFrame::filled(8, 8, [9; 3])))
                };
                film.add(draw, observation.as_ref());
            }
            (drawn, film.seconds())
        };
        assert_eq!(length(Film::new(&*env)), (100, 2.0));
        assert_eq!(length(Film::new(&*env).thinned(30.0)), (50, 2.0));
        assert_eq!(length(Film::new(&*env).thinned(60.0)), (100, 2.0));
    }
}
