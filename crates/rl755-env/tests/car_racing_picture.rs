//! CarRacing's picture against frames of Gymnasium (`golden/car_racing_picture.py`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Cursor;

use rl755_env::{CarRacing, CarRacingConfig, Env, ObservationMut};
use serde::Deserialize;

const SIZE: usize = 96;
/// Rows above the indicators.
const VIEW: usize = 84;
/// The score: first and last row and column.
const SCORE: [[usize; 2]; 2] = [[86, 92], [0, 11]];

#[derive(Deserialize)]
struct Golden {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    seed: u64,
    /// Steering, gas and brake in sixteenths, and for how many steps.
    actions: Vec<[i32; 4]>,
    /// After how many steps there is a frame.
    frames: Vec<usize>,
}

/// Gymnasium's frames, `[row][frame][column][channel]`, and how many there are.
fn golden_frames() -> (Vec<u8>, usize) {
    let bytes = include_bytes!("golden/car_racing_picture.png");
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    (pixels, info.width as usize / SIZE)
}

/// Our frames, one after another.
fn our_frames() -> Vec<Vec<u8>> {
    let golden: Golden =
        serde_json::from_str(include_str!("golden/car_racing_picture.json")).unwrap();
    let mut frames = Vec::new();
    for case in golden.cases {
        let mut env = CarRacing::new(CarRacingConfig::default()).unwrap();
        let mut frame = vec![0; SIZE * SIZE * 3];
        env.reset(Some(case.seed), ObservationMut::U8(&mut frame)).unwrap();
        let held = |[steer, gas, brake, steps]: &[i32; 4]| {
            let action = [*steer, *gas, *brake].map(|v| v as f32 / 16.0);
            std::iter::repeat_n(action, *steps as usize)
        };
        for (step, action) in case.actions.iter().flat_map(held).enumerate() {
            if case.frames.contains(&step) {
                frames.push(frame.clone());
            }
            env.step(&action, ObservationMut::U8(&mut frame)).unwrap();
        }
    }
    frames
}

/// Absolute differences between our and Gymnasium's frame `index`, by row, column and channel.
fn differences(ours: &[u8], index: usize) -> Vec<u8> {
    let (pixels, count) = golden_frames();
    let mut differences = Vec::with_capacity(ours.len());
    for (row, line) in ours.chunks_exact(SIZE * 3).enumerate() {
        let start = (row * count + index) * SIZE * 3;
        let theirs = &pixels[start..start + SIZE * 3];
        differences.extend(line.iter().zip(theirs).map(|(a, b)| a.abs_diff(*b)));
    }
    differences
}

fn mean(values: impl Iterator<Item = u8>) -> f64 {
    let (sum, count) = values.fold((0.0, 0), |(sum, n), value| (sum + f64::from(value), n + 1));
    sum / f64::from(count)
}

#[test]
fn frames_equal_gymnasium_s_within_a_third_of_a_level_on_average() {
    let frames = our_frames();
    assert_eq!(frames.len(), golden_frames().1);
    for (index, ours) in frames.iter().enumerate() {
        let mean = mean(differences(ours, index).into_iter());
        assert!(mean < 0.33, "frame {index}: the mean difference is {mean:.3}");
    }
}

#[test]
fn no_pixel_of_the_view_stands_out() {
    for (index, ours) in our_frames().iter().enumerate() {
        let differences = differences(ours, index);
        let view = &differences[..VIEW * SIZE * 3];
        let greatest = view.iter().max().unwrap();
        assert!(*greatest <= 32, "frame {index}: a pixel differs by {greatest}");
        let mean = mean(view.iter().copied());
        assert!(mean < 0.15, "frame {index}: the view's mean difference is {mean:.3}");
    }
}

#[test]
fn indicators_stand_where_gymnasium_s_do() {
    for (index, ours) in our_frames().iter().enumerate() {
        for (place, difference) in differences(ours, index).iter().enumerate() {
            let (row, column) = (place / 3 / SIZE, place / 3 % SIZE);
            let [rows, columns] = SCORE;
            let in_score =
                (rows[0]..=rows[1]).contains(&row) && (columns[0]..=columns[1]).contains(&column);
            if row >= VIEW && !in_score {
                assert!(*difference <= 12, "frame {index}, {row}, {column}: {difference}");
            }
        }
    }
}

#[test]
fn the_score_s_brightness_is_gymnasium_s() {
    let (pixels, count) = golden_frames();
    for (index, ours) in our_frames().iter().enumerate() {
        let brightness = |pixel: &dyn Fn(usize, usize) -> u8| {
            let rows = SCORE[0][0]..=SCORE[0][1];
            let places = rows.flat_map(|row| (SCORE[1][0]..=SCORE[1][1]).map(move |x| (row, x)));
            places.map(|(row, x)| f64::from(pixel(row, x))).sum::<f64>()
        };
        let our = brightness(&|row, x| ours[(row * SIZE + x) * 3]);
        let their = brightness(&|row, x| pixels[((row * count + index) * SIZE + x) * 3]);
        assert!((our / their - 1.0).abs() < 0.15, "frame {index}: {our} instead of {their}");
    }
}
