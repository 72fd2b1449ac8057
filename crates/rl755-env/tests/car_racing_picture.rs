//! CarRacing's picture against frames of Gymnasium (`golden/car_racing_picture.py`).

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Cursor;

use rl755_env::{CarRacing, CarRacingConfig, Env, ObservationMut, RgbFrame};
use serde::Deserialize;

const SIZE: usize = 96;
/// Rows above the indicators.
const VIEW: usize = 84;
/// The score: first and last row and column.
const SCORE: [[usize; 2]; 2] = [[86, 92], [0, 11]];
/// Height and width of pictures for people, and where the score is in them.
const PEOPLE: [usize; 2] = [400, 600];
const PEOPLE_SCORE: [std::ops::Range<usize>; 2] = [350..400, 0..70];

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
    /// Hashes of the pictures for people after these steps, without the score.
    people: Vec<String>,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("golden/car_racing_picture.json")).unwrap()
}

/// Gymnasium's frames, `[row][frame][column][channel]`, and how many there are.
fn golden_frames() -> (Vec<u8>, usize) {
    let (pixels, width) = decoded(include_bytes!("golden/car_racing_picture.png"));
    (pixels, width / SIZE)
}

/// A PNG's pixels, and its width.
fn decoded(bytes: &[u8]) -> (Vec<u8>, usize) {
    let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgb, png::BitDepth::Eight));
    (pixels, info.width as usize)
}

/// Our frames, one after another.
fn our_frames() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    replay(|_, frame| frames.push(frame.to_vec()));
    frames
}

/// Our pictures for people, one after another.
fn our_people() -> Vec<RgbFrame> {
    let mut pictures = Vec::new();
    replay(|env, _| pictures.push(env.render().unwrap().unwrap()));
    pictures
}

/// Calls `visit` with the environment and its frame wherever there is one of Gymnasium's.
fn replay(mut visit: impl FnMut(&mut CarRacing, &[u8])) {
    for case in golden().cases {
        let mut env = CarRacing::new(CarRacingConfig::default()).unwrap();
        let mut frame = vec![0; SIZE * SIZE * 3];
        env.reset(Some(case.seed), ObservationMut::U8(&mut frame)).unwrap();
        let held = |[steer, gas, brake, steps]: &[i32; 4]| {
            let action = [*steer, *gas, *brake].map(|v| v as f32 / 16.0);
            std::iter::repeat_n(action, *steps as usize)
        };
        for (step, action) in case.actions.iter().flat_map(held).enumerate() {
            if case.frames.contains(&step) {
                visit(&mut env, &frame);
            }
            env.step(&action, ObservationMut::U8(&mut frame)).unwrap();
        }
    }
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

#[test]
fn pictures_for_people_are_gymnasium_s_byte_for_byte_but_for_the_score() {
    let hashes: Vec<String> = golden().cases.into_iter().flat_map(|case| case.people).collect();
    let pictures = our_people();
    assert_eq!(pictures.len(), hashes.len());
    for (index, (mut picture, theirs)) in pictures.into_iter().zip(hashes).enumerate() {
        assert_eq!([picture.height, picture.width], PEOPLE);
        let [rows, columns] = PEOPLE_SCORE;
        for row in picture.pixels.chunks_exact_mut(PEOPLE[1] * 3).skip(rows.start) {
            row[3 * columns.start..3 * columns.end].fill(0);
        }
        let ours = picture.pixels.iter().fold(0xcbf2_9ce4_8422_2325, |state: u64, byte| {
            (state ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        });
        assert_eq!(format!("{ours:016x}"), theirs, "picture {index}");
    }
}

#[test]
fn people_see_the_score_where_gymnasium_s_is() {
    let (theirs, width) = decoded(include_bytes!("golden/car_racing_people.png"));
    let ours = our_people().pop().unwrap().pixels;
    assert_eq!((theirs.len(), width), (ours.len(), PEOPLE[1]));
    let total: f64 = ours.iter().zip(&theirs).map(|(a, b)| f64::from(a.abs_diff(*b))).sum();
    let mean = total / ours.len() as f64;
    assert!(mean < 0.3, "the mean difference is {mean:.3}");
    let [rows, columns] = PEOPLE_SCORE;
    let ink = |pixels: &[u8]| {
        let places = rows.clone().flat_map(|row| columns.clone().map(move |x| [row, x]));
        let inks = places.map(|[row, x]| f64::from(pixels[(row * PEOPLE[1] + x) * 3]));
        inks.sum::<f64>()
    };
    let (our, their) = (ink(&ours), ink(&theirs));
    assert!((our / their - 1.0).abs() < 0.1, "{our} instead of {their}");
}
