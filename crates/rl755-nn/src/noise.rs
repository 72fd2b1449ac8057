//! Random numbers by example: each row of a batch has a stream of its own.
//!
//! A batch that is split among devices draws the same numbers as a whole one, on every device and
//! with any number of threads.

use std::{cell::Cell, ops::Range};

use burn::tensor::{Device, Shape, Tensor, TensorData};
use pulp::{Arch, NullaryFnOnce};
use rayon::prelude::*;

/// Numbers above which threads share a draw.
const MANY: usize = 1 << 15;

/// Where this thread's random numbers come from.
#[derive(Clone, Copy, Debug)]
struct Stream {
    seed: u64,
    /// Tensors drawn so far.
    draws: u64,
    /// The number of the first example in its batch.
    first: u64,
    /// How many examples there are, at least 1; `None` where every row is one.
    examples: Option<usize>,
}

thread_local! {
    static STREAM: Cell<Stream> =
        const { Cell::new(Stream { seed: 0, draws: 0, first: 0, examples: None }) };
}

/// Puts back what was there when it is dropped, also by a panic.
struct Restore(Stream);

impl Drop for Restore {
    fn drop(&mut self) {
        STREAM.set(self.0);
    }
}

/// Runs `work` with the noise of the examples numbered `examples` of a batch, from `seed`.
///
/// Every tensor that `work` draws on this thread must have the examples, or a whole number of rows
/// for each of them, one example after the other, along its first dimension: a tensor
/// `[length, batch, …]` would give examples numbers of each other.
///
/// # Panics
/// When `work` draws a tensor whose rows do not share out evenly among the examples.
pub fn with_examples<T>(seed: u64, examples: Range<usize>, work: impl FnOnce() -> T) -> T {
    let (first, count) = (examples.start as u64, examples.len());
    with(Stream { seed, draws: 0, first, examples: Some(count) }, work)
}

/// Runs `work` with the noise of `seed`; every row of a tensor is an example, numbered from 0.
pub(crate) fn with_rows<T>(seed: u64, work: impl FnOnce() -> T) -> T {
    with(Stream { seed, draws: 0, first: 0, examples: None }, work)
}

fn with<T>(stream: Stream, work: impl FnOnce() -> T) -> T {
    let _restore = Restore(STREAM.replace(stream));
    work()
}

/// Standard normal numbers that are the same on every device, from the stream of
/// [`seeded`](crate::seeded) or [`with_examples`]: the numbers of a row depend on the seed, how many
/// tensors were drawn before, and the row's example alone.
///
/// Made in pairs from uniform numbers of 32 bits (Box and Muller 1958); none is further than 6.6
/// from 0.
pub fn standard_normal<const D: usize>(shape: impl Into<Shape>, device: &Device) -> Tensor<D> {
    let shape = shape.into();
    let values = draw(&shape, |key, values| Arch::new().dispatch(Normal { key, values }));
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Numbers in 0..1, drawn as [`standard_normal`] draws its own; multiples of 2^-24.
pub fn standard_uniform<const D: usize>(shape: impl Into<Shape>, device: &Device) -> Tensor<D> {
    let shape = shape.into();
    let values = draw(&shape, |key, values| Arch::new().dispatch(Uniform { key, values }));
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// A mask of dropout (Srivastava et al. 2014): 0 for a random share `rate`, in 0..1, and
/// 1 / (1 - `rate`) for the rest, drawn as [`standard_normal`] draws its numbers.
pub fn dropout_mask(shape: &Shape, rate: f64) -> Vec<f32> {
    let threshold = (rate * 2f64.powi(32)) as u32;
    let kept = (1.0 / (1.0 - rate)) as f32;
    draw(shape, |key, values| Arch::new().dispatch(Mask { key, values, threshold, kept }))
}

/// Fills the numbers of each example from its key.
fn draw(shape: &Shape, fill: impl Fn(Key, &mut [f32]) + Sync) -> Vec<f32> {
    let mut stream = STREAM.get();
    let draw = stream.draws;
    stream.draws += 1;
    STREAM.set(stream);
    let mut values = vec![0.0; shape.num_elements()];
    if values.is_empty() {
        return values;
    }
    let rows = if shape.num_dims() == 0 { 1 } else { shape[0] };
    let examples = stream.examples.unwrap_or(rows);
    assert!(examples > 0 && rows.is_multiple_of(examples), "{rows} rows for {examples} examples");
    let size = values.len() / examples;
    let key = |index: usize| Key::new(stream.seed, draw, stream.first + index as u64);
    if values.len() < MANY {
        values.chunks_exact_mut(size).enumerate().for_each(|(i, v)| fill(key(i), v));
    } else {
        values.par_chunks_exact_mut(size).enumerate().for_each(|(i, v)| fill(key(i), v));
    }
    values
}

/// What the numbers of one example in one draw derive from.
#[derive(Clone, Copy)]
struct Key([u32; 2]);

impl Key {
    fn new(seed: u64, draw: u64, example: u64) -> Self {
        let word = scramble(scramble(scramble(seed).wrapping_add(draw)).wrapping_add(example));
        Self([word as u32, (word >> 32) as u32])
    }

    /// The random word of that index.
    #[inline(always)]
    fn word(self, index: u32) -> u32 {
        let Self([first, second]) = self;
        mix(mix(index.wrapping_add(first)) ^ second)
    }
}

/// A permutation of the 64-bit words without visible pattern (SplitMix64, Steele et al. 2014).
fn scramble(word: u64) -> u64 {
    let word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A permutation of the 32-bit words without visible pattern (Wellons 2018, "lowbias32").
#[inline(always)]
fn mix(word: u32) -> u32 {
    let word = (word ^ (word >> 16)).wrapping_mul(0x7feb_352d);
    let word = (word ^ (word >> 15)).wrapping_mul(0x846c_a68b);
    word ^ (word >> 16)
}

/// Fills `values`, compiled for each set of vector instructions. No multiplication is fused with
/// an addition, so that all of them give the same bits.
struct Normal<'a> {
    key: Key,
    values: &'a mut [f32],
}

impl NullaryFnOnce for Normal<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let half = self.values.len().div_ceil(2);
        let (cosines, sines) = self.values.split_at_mut(half);
        let middle = cosines.len() - sines.len(); // 1 where the number is odd
        for (index, (cosine, sine)) in cosines[middle..].iter_mut().zip(sines).enumerate() {
            let index = index as u32 + middle as u32;
            [*cosine, *sine] =
                normal_pair(self.key.word(index), self.key.word(index + half as u32));
        }
        if middle == 1 {
            [cosines[0], _] = normal_pair(self.key.word(0), self.key.word(half as u32));
        }
    }
}

/// Two independent standard normal numbers from two random words.
#[inline(always)]
fn normal_pair(radius: u32, angle: u32) -> [f32; 2] {
    // In 2^-31..=1.
    let unit = ((radius >> 1) as i32 as f32 + 1.0) * (1.0 / 2_147_483_648.0);
    let radius = (-2.0 * ln(unit)).sqrt();
    // A turn is 2^32: the quadrant, and the angle within it from -pi/4 to pi/4.
    let turned = angle.wrapping_add(1 << 29);
    let within = (turned & 0x3fff_ffff) as i32 - (1 << 29);
    let [sine, cosine] = sin_cos(within as f32 * (std::f32::consts::FRAC_PI_2 / 1_073_741_824.0));
    let quadrant = turned >> 30;
    let (x, y) = if quadrant & 1 == 0 { (cosine, sine) } else { (-sine, cosine) };
    let sign = if quadrant & 2 == 0 { radius } else { -radius };
    [sign * x, sign * y]
}

/// The natural logarithm of a number in 2^-31..=1 (Cephes, Moshier 1992: `logf`).
#[inline(always)]
fn ln(x: f32) -> f32 {
    let bits = x.to_bits();
    // x = (1 + f) · 2^exponent with 1 + f from √½ to √2.
    let exponent = (bits as i32 - 0x3f35_04f3) >> 23;
    let f = f32::from_bits((bits as i32 - (exponent << 23)) as u32) - 1.0;
    let exponent = exponent as f32;
    let z = f * f;
    let mut y = 7.037_683_6e-2 * f - 1.151_461e-1;
    y = y * f + 1.167_699_9e-1;
    y = y * f - 1.242_014_1e-1;
    y = y * f + 1.424_932_3e-1;
    y = y * f - 1.666_805_7e-1;
    y = y * f + 2.000_071_5e-1;
    y = y * f - 2.499_999_4e-1;
    y = y * f + 3.333_333e-1;
    y = y * f * z - 2.121_944_4e-4 * exponent - 0.5 * z;
    f + y + 0.693_359_4 * exponent
}

/// Sine and cosine of an angle from -pi/4 to pi/4 (Cephes: `sinf`, `cosf`).
#[inline(always)]
fn sin_cos(x: f32) -> [f32; 2] {
    let z = x * x;
    let sine = ((-1.951_529_6e-4 * z + 8.332_161e-3) * z - 1.666_665_5e-1) * z * x + x;
    let cosine = ((2.443_315_7e-5 * z - 1.388_731_6e-3) * z + 4.166_664_6e-2) * z * z;
    [sine, cosine - 0.5 * z + 1.0]
}

struct Uniform<'a> {
    key: Key,
    values: &'a mut [f32],
}

impl NullaryFnOnce for Uniform<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (index, value) in self.values.iter_mut().enumerate() {
            *value = (self.key.word(index as u32) >> 8) as i32 as f32 * (1.0 / 16_777_216.0);
        }
    }
}

struct Mask<'a> {
    key: Key,
    values: &'a mut [f32],
    threshold: u32,
    kept: f32,
}

impl NullaryFnOnce for Mask<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for (index, value) in self.values.iter_mut().enumerate() {
            let dropped = self.key.word(index as u32) < self.threshold;
            *value = if dropped { 0.0 } else { self.kept };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
        tensor.into_data().try_into_vec().unwrap()
    }

    fn normals(shape: [usize; 2]) -> Vec<f32> {
        values(standard_normal::<2>(shape, &Device::flex()))
    }

    #[test]
    fn elementary_functions_are_those_of_the_standard_library() {
        for step in 1..=20_000 {
            let x = step as f32 / 20_000.0;
            for x in [x, x * x * x * 1e-3] {
                let error = f64::from(ln(x)) - f64::from(x).ln();
                assert!(error.abs() <= 2e-7 * f64::from(x).ln().abs() + 6e-8, "ln {x}: {error}");
            }
            let angle = (x - 0.5) * std::f32::consts::FRAC_PI_2;
            let [sine, cosine] = sin_cos(angle).map(f64::from);
            let (expected_sine, expected_cosine) = f64::from(angle).sin_cos();
            assert!((sine - expected_sine).abs() < 1e-7 && (cosine - expected_cosine).abs() < 1e-7);
        }
    }

    /// The largest distance between the distribution of `sorted` and the normal one, by integrating
    /// the density.
    fn kolmogorov(sorted: &[f32]) -> f64 {
        let density = |x: f64| (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt();
        let (mut at, mut below, mut distance) = (-9.0, 0.0, 0.0f64);
        for (index, value) in sorted.iter().enumerate() {
            let (value, steps) = (f64::from(*value), 4);
            let width = (value - at) / f64::from(steps);
            for step in 0..steps {
                let x = at + width * f64::from(step);
                let middle = density(x + 0.5 * width);
                below += width / 6.0 * (density(x) + 4.0 * middle + density(x + width));
            }
            at = value;
            distance = distance.max((below - index as f64 / sorted.len() as f64).abs());
        }
        distance
    }

    #[test]
    fn normal_numbers_are_normal_and_independent() {
        let (rows, width) = (400, 501);
        let n = (rows * width) as f64;
        let [first, second] = with_rows(3, || [normals([rows, width]), normals([rows, width])]);
        let correlation = |a: &[f32], b: &[f32]| {
            let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
            products.sum::<f64>() / a.len() as f64
        };
        let four = 4.0 / n.sqrt(); // standard errors
        let mean = first.iter().map(|v| f64::from(*v)).sum::<f64>() / n;
        assert!(mean.abs() < four, "{mean}");
        let variance = correlation(&first, &first);
        assert!((variance - 1.0).abs() < four * 2f64.sqrt(), "{variance}");
        let pairs = [
            ("draws", &first[..], &second[..]),
            ("neighbours", &first[1..], &first[..first.len() - 1]),
            ("halves of a row", &first[251..], &first[..first.len() - 251]),
            ("examples", &first[width..], &first[..first.len() - width]),
        ];
        for (name, a, b) in pairs {
            assert!(correlation(a, b).abs() < four, "{name}: {}", correlation(a, b));
            let squares = |v: &[f32]| v.iter().map(|v| v * v - 1.0).collect::<Vec<_>>();
            let squared = correlation(&squares(a), &squares(b));
            assert!(squared.abs() < 2.0 * four, "{name}, squared: {squared}");
        }
        let mut sorted = first;
        sorted.sort_by(f32::total_cmp);
        // 1.95 is the 0.1 % point of the Kolmogorov distribution.
        assert!(kolmogorov(&sorted) < 1.95 / n.sqrt(), "{}", kolmogorov(&sorted));
    }

    #[test]
    fn dropout_masks_have_the_share_and_the_mean() {
        let mask = with_rows(1, || dropout_mask(&Shape::new([300, 500]), 0.1));
        let zeros = mask.iter().filter(|v| **v == 0.0).count() as f64 / 150_000.0;
        assert!((zeros - 0.1).abs() < 0.003, "{zeros}");
        let mean = mask.iter().map(|v| f64::from(*v)).sum::<f64>() / 150_000.0;
        assert!((mean - 1.0).abs() < 0.004, "{mean}");
    }

    #[test]
    fn uniform_numbers_fill_the_unit_interval() {
        let numbers = with_rows(1, || values(standard_uniform::<1>([100_000], &Device::flex())));
        assert!(numbers.iter().all(|v| (0.0..1.0).contains(v)));
        let mean = numbers.iter().map(|v| f64::from(*v)).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.004, "{mean}");
    }

    #[test]
    fn parts_of_a_batch_draw_what_the_whole_batch_draws() {
        let draw = |examples: Range<usize>| {
            let count = examples.len();
            with_examples(5, examples, || {
                // The second has three rows for each example, the third a number that is odd.
                let second = Shape::new([3 * count, 20_000]);
                [normals([count, 4]), dropout_mask(&second, 0.5), normals([count, 7])]
            })
        };
        let whole = draw(0..5);
        let [first, second] = [draw(0..2), draw(2..5)];
        for ((whole, first), second) in whole.iter().zip(first).zip(second) {
            assert!(*whole == [first, second].concat());
        }
        assert!(whole[0] != draw(1..6)[0]);
    }

    #[test]
    #[should_panic(expected = "5 rows for 4 examples")]
    fn what_has_no_examples_is_not_drawn() {
        with_examples(5, 0..4, || normals([5, 3]));
    }

    #[test]
    fn streams_nest_and_end() {
        let plain = with_rows(1, || [normals([2, 2]), normals([2, 2])]);
        let nested = with_rows(1, || {
            let first = normals([2, 2]);
            with_rows(2, || normals([2, 2]));
            [first, normals([2, 2])]
        });
        assert_eq!(plain, nested);
    }
}
