//! Frames of another size.

use super::{
    area_resize::{AreaResize, MAX_AREA},
    misfit,
};
use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Scene3d, Space, Step};

/// Resizes frames: each new pixel is the mean of the area that it covers, rounded to the nearest
/// level.
///
/// Smaller frames are those of OpenCV's `INTER_AREA`, which Gymnasium's wrapper uses, but for means
/// exactly between two levels at ratios such as 96 to 60, where OpenCV's rounding is left to chance.
/// Larger ones differ by at most one level, for OpenCV counts areas in steps of 1/2048. Where one
/// side grows and the other shrinks, OpenCV goes by area on neither; this does on both.
#[derive(Debug)]
pub struct ResizeObservation<E> {
    env: E,
    spec: EnvSpec,
    frame: Vec<u8>,
    resize: AreaResize,
}

impl<E: Env> ResizeObservation<E> {
    /// Resizes the frames of `env` to `[height, width]` in pixels; channels stay as they are.
    ///
    /// # Errors
    /// When its observations are no frames, the new size is 0, or one is beyond 16 million
    /// pixels.
    pub fn new(env: E, size: [usize; 2]) -> Result<Self, EnvError> {
        let misfit = |reason: String| Err(misfit("ResizeObservation", env.spec(), reason));
        let space = &env.spec().observation_space;
        let &Space::Image { height, width, channels } = space else {
            return misfit(format!("its observations, {space}, are no frames"));
        };
        let [new_height, new_width] = size;
        let pixels = new_height.saturating_mul(new_width);
        if !(1..=MAX_AREA).contains(&pixels) {
            return misfit(format!("{new_height}×{new_width} pixels are none or too many"));
        }
        let Some(resize) = AreaResize::new([height, width], size, channels) else {
            return misfit(format!("{height}×{width} pixels are too many"));
        };
        let observation_space = Space::Image { height: new_height, width: new_width, channels };
        let spec = EnvSpec { observation_space, ..env.spec().clone() };
        Ok(Self { env, spec, frame: vec![0; height * width * channels], resize })
    }

    /// The wrapped environment.
    pub fn env(&self) -> &E {
        &self.env
    }
}

impl<E: Env> Env for ResizeObservation<E> {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        let resized = observation.bytes(&self.spec)?;
        self.env.reset(seed, ObservationMut::U8(&mut self.frame))?;
        self.resize.apply(&self.frame, resized);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let resized = observation.bytes(&self.spec)?;
        let step = self.env.step(action, ObservationMut::U8(&mut self.frame))?;
        self.resize.apply(&self.frame, resized);
        Ok(step)
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.env.render()
    }

    fn scene(&self) -> Option<&dyn Scene3d> {
        self.env.scene()
    }
}
