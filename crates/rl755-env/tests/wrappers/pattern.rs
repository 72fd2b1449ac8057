//! Environments whose frames are easily made again elsewhere.

use rl755_env::{Env, EnvError, EnvSpec, ObservationMut, RgbFrame, Space, Step};

/// Frames that look like noise; an episode ends with its 9th step.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) spec: EnvSpec,
    seed: u64,
    pub(crate) time: Option<u32>,
}

/// The length of its episodes.
pub(crate) const PATTERN_STEPS: u32 = 9;

impl Pattern {
    pub(crate) fn new(height: usize, width: usize) -> Self {
        let spec = EnvSpec {
            id: "Pattern-v0".to_owned(),
            observation_space: Space::Image { height, width, channels: 3 },
            action_space: Space::Discrete { n: 3 },
            max_episode_steps: None,
            rules: "ends with the 9th step".to_owned(),
        };
        Self { spec, seed: 0, time: None }
    }

    fn draw(&self, frame: &mut [u8]) {
        let (time, seed) = (self.time.unwrap(), self.seed as u32);
        for (i, byte) in (0u32..).zip(frame) {
            let mixed = i.wrapping_mul(i).wrapping_mul(31);
            let mixed = mixed.wrapping_add(i.wrapping_mul(17).wrapping_mul(time + 1));
            *byte = (mixed.wrapping_add(seed.wrapping_mul(101)) >> 7) as u8;
        }
    }
}

impl Env for Pattern {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, seed: Option<u64>, out: ObservationMut<'_>) -> Result<(), EnvError> {
        let frame = out.bytes(&self.spec)?;
        self.seed = seed.unwrap_or(self.seed + 1);
        self.time = Some(0);
        self.draw(frame);
        Ok(())
    }

    fn step(&mut self, action: &[f32], out: ObservationMut<'_>) -> Result<Step, EnvError> {
        let time = self.time.ok_or_else(|| self.spec.not_reset())?;
        if time == PATTERN_STEPS {
            return Err(self.spec.episode_over());
        }
        self.spec.check_action(action)?;
        let frame = out.bytes(&self.spec)?;
        let time = time + 1;
        self.time = Some(time);
        self.draw(frame);
        let points = (u64::from(time) * 7 + self.seed + action[0] as u64) % 11;
        let reward = (points as f64 - 5.0) / 4.0;
        Ok(Step { reward, terminated: time == PATTERN_STEPS, truncated: false })
    }

    fn render(&mut self) -> Result<Option<RgbFrame>, EnvError> {
        let &Space::Image { height, width, .. } = &self.spec.observation_space else {
            unreachable!()
        };
        let mut frame = vec![0; height * width * 3];
        self.draw(&mut frame);
        let rows = frame.chunks_exact(width * 3).step_by(2);
        let pixels = rows.flat_map(|row| row.chunks_exact(3).step_by(2).flatten().copied());
        Ok(Some(RgbFrame { height: height / 2, width: width / 2, pixels: pixels.collect() }))
    }
}

/// Shows every colour: red by the step, green from top to bottom, blue from left to right.
pub(crate) struct EveryColor(pub(crate) EnvSpec, pub(crate) u8);

impl Env for EveryColor {
    fn spec(&self) -> &EnvSpec {
        &self.0
    }

    fn reset(&mut self, _: Option<u64>, out: ObservationMut<'_>) -> Result<(), EnvError> {
        let pixels = out.bytes(&self.0)?.as_chunks_mut::<3>().0;
        for (index, pixel) in pixels.iter_mut().enumerate() {
            *pixel = [self.1, (index >> 8) as u8, index as u8];
        }
        Ok(())
    }

    fn step(&mut self, _: &[f32], out: ObservationMut<'_>) -> Result<Step, EnvError> {
        self.1 += 1;
        self.reset(None, out)?;
        Ok(Step::default())
    }
}
