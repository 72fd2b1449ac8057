//! Frames without colours.

use super::misfit;
use crate::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Scene3d, Space, Step};

/// How bright red, green and blue are: Rec. 709 as Gymnasium 1.4.0 rounds it.
const WEIGHTS: [f64; 3] = [0.2125, 0.7154, 0.0721];

/// Turns colour frames into grey ones of one channel, as Gymnasium's `GrayscaleObservation` does
/// with `keep_dim=True`, byte for byte: a level is 0.2125 red + 0.7154 green + 0.0721 blue, rounded
/// down.
#[derive(Debug)]
pub struct GrayscaleObservation<E> {
    env: E,
    spec: EnvSpec,
    frame: Vec<u8>,
}

impl<E: Env> GrayscaleObservation<E> {
    /// Makes the frames of `env` grey.
    ///
    /// # Errors
    /// When its observations are not frames of red, green and blue.
    pub fn new(env: E) -> Result<Self, EnvError> {
        let space = &env.spec().observation_space;
        let &Space::Image { height, width, channels: 3 } = space else {
            let reason = format!("its observations, {space}, are no frames of three colours");
            return Err(misfit("GrayscaleObservation", env.spec(), reason));
        };
        let observation_space = Space::Image { height, width, channels: 1 };
        let spec = EnvSpec { observation_space, ..env.spec().clone() };
        Ok(Self { env, spec, frame: vec![0; height * width * 3] })
    }

    /// The wrapped environment.
    pub fn env(&self) -> &E {
        &self.env
    }
}

/// Writes the grey levels of `frame`, `[height, width, 3]`, to `grey`, `[height, width, 1]`.
fn convert(frame: &[u8], grey: &mut [u8]) {
    let (pixels, _) = frame.as_chunks::<3>();
    for (level, &[red, green, blue]) in grey.iter_mut().zip(pixels) {
        let [red, green, blue] = [red, green, blue].map(f64::from);
        // In numpy's order; the sum is below 256.
        let sum = red * WEIGHTS[0] + green * WEIGHTS[1] + blue * WEIGHTS[2];
        *level = sum as u8;
    }
}

impl<E: Env> Env for GrayscaleObservation<E> {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(
        &mut self,
        seed: Option<u64>,
        observation: ObservationMut<'_>,
    ) -> Result<(), EnvError> {
        let grey = observation.bytes(&self.spec)?;
        self.env.reset(seed, ObservationMut::U8(&mut self.frame))?;
        convert(&self.frame, grey);
        Ok(())
    }

    fn step(&mut self, action: &[f32], observation: ObservationMut<'_>) -> Result<Step, EnvError> {
        let grey = observation.bytes(&self.spec)?;
        let step = self.env.step(action, ObservationMut::U8(&mut self.frame))?;
        convert(&self.frame, grey);
        Ok(step)
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        self.env.render()
    }

    fn scene(&self) -> Option<&dyn Scene3d> {
        self.env.scene()
    }
}
