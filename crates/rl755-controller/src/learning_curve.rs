//! The learning curve of an evolution as a picture.

use serde::{Deserialize, Serialize};

/// A generation in a learning curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CurvePoint {
    /// Which generation, from 1.
    pub(crate) generation: u64,
    /// The best member's score.
    pub(crate) best: f64,
    /// The mean of all members' scores.
    pub(crate) mean: f64,
    /// Mean and standard deviation of an evaluation, where there was one.
    pub(crate) evaluation: Option<(f64, f64)>,
}

/// A PNG picture.
pub(crate) struct Picture {
    pub(crate) size: [usize; 2],
    pub(crate) png: Vec<u8>,
}

const SIZE: [usize; 2] = [540, 960];

/// Draws best, mean and evaluation over the generations.
pub(crate) fn draw(points: &[CurvePoint]) -> Picture {
    let [height, width] = SIZE;
    let mut pixels = vec![255u8; height * width * 3];
    let values = points.iter().flat_map(|p| [p.best, p.mean]);
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max).max(low + 1e-9);
    let last = points.last().map_or(1, |p| p.generation).max(2) as f64;
    for point in points {
        for (value, color) in [(point.best, [0, 120, 200]), (point.mean, [200, 80, 0])] {
            let x = ((point.generation - 1) as f64 / (last - 1.0) * (width - 3) as f64) as usize;
            let y = ((high - value) / (high - low) * (height - 3) as f64) as usize;
            for (dy, dx) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                let at = ((y + dy) * width + x + dx) * 3;
                pixels[at..at + 3].copy_from_slice(&color);
            }
        }
    }
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgb);
    if let Ok(mut writer) = encoder.write_header() {
        // Writing to memory cannot fail.
        let _ = writer.write_image_data(&pixels);
    }
    Picture { size: SIZE, png }
}
