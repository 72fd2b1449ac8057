//! One-dimensional Perlin noise.

/// The permutation of Ken Perlin's reference implementation of improved noise (2002).
#[rustfmt::skip]
const PERMUTATION: [u8; 256] = [
    151, 160, 137, 91, 90, 15, 131, 13, 201, 95, 96, 53, 194, 233, 7, 225,
    140, 36, 103, 30, 69, 142, 8, 99, 37, 240, 21, 10, 23, 190, 6, 148,
    247, 120, 234, 75, 0, 26, 197, 62, 94, 252, 219, 203, 117, 35, 11, 32,
    57, 177, 33, 88, 237, 149, 56, 87, 174, 20, 125, 136, 171, 168, 68, 175,
    74, 165, 71, 134, 139, 48, 27, 166, 77, 146, 158, 231, 83, 111, 229, 122,
    60, 211, 133, 230, 220, 105, 92, 41, 55, 46, 245, 40, 244, 102, 143, 54,
    65, 25, 63, 161, 1, 216, 80, 73, 209, 76, 132, 187, 208, 89, 18, 169,
    200, 196, 135, 130, 116, 188, 159, 86, 164, 100, 109, 198, 173, 186, 3, 64,
    52, 217, 226, 250, 124, 123, 5, 202, 38, 147, 118, 126, 255, 82, 85, 212,
    207, 206, 59, 227, 47, 16, 58, 17, 182, 189, 28, 42, 223, 183, 170, 213,
    119, 248, 152, 2, 44, 154, 163, 70, 221, 153, 101, 155, 167, 43, 172, 9,
    129, 22, 39, 253, 19, 98, 108, 110, 79, 113, 224, 232, 178, 185, 112, 104,
    218, 246, 97, 228, 251, 34, 242, 193, 238, 210, 144, 12, 191, 179, 162, 241,
    81, 51, 145, 235, 249, 14, 239, 107, 49, 192, 214, 31, 181, 199, 106, 157,
    184, 84, 204, 176, 115, 121, 50, 45, 127, 4, 150, 254, 138, 236, 205, 93,
    222, 114, 67, 29, 24, 72, 243, 141, 128, 195, 78, 66, 215, 61, 156, 180,
];

/// Perlin noise at `x`, about within [-1, 1]: `octaves` layers, each of twice the frequency and
/// half the amplitude of the one before, divided by the sum of the amplitudes.
///
/// The same function as `pnoise1` of the Python package `noise` 1.2.2, which the original project
/// used, computed in 64 bits: there, 32 bits leave steps in the noise far from 0.
pub(super) fn perlin(x: f64, octaves: u32) -> f64 {
    let (mut frequency, mut amplitude) = (1.0, 1.0);
    let (mut sum, mut amplitudes) = (0.0, 0.0);
    for _ in 0..octaves {
        sum += amplitude * layer(x * frequency);
        amplitudes += amplitude;
        frequency *= 2.0;
        amplitude *= 0.5;
    }
    sum / amplitudes
}

/// One layer: gradients at the whole numbers, blended with `6t^5 - 15t^4 + 10t^3`.
fn layer(x: f64) -> f64 {
    let cell = x.floor();
    let t = x - cell;
    let index = cell.rem_euclid(256.0) as usize;
    let left = gradient(PERMUTATION[index]) * t;
    let right = gradient(PERMUTATION[(index + 1) % 256]) * (t - 1.0);
    let blend = t * t * t * (t * (t * 6.0 - 15.0) + 10.0);
    0.4 * (left + blend * (right - left))
}

/// 1 to 8 upwards for one half of the hashes, -1 for the other, as the package has it.
fn gradient(hash: u8) -> f64 {
    if hash & 8 == 0 { f64::from(hash & 7) + 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_that_of_the_python_package() {
        // (x, pnoise1(x, octaves=1), pnoise1(x, octaves=5)) of noise 1.2.2, in 32 bits.
        let golden = [
            (0.0, 0.0000000, 0.0000000),
            (0.25, 0.6861328, 0.5347782),
            (0.5, 0.7000000, 0.3612903),
            (1.0, 0.0000000, 0.0000000),
            (1.375, 0.1775208, 0.0422285),
            (7.75, 0.0585938, 0.1076613),
            (33.3125, -0.0529976, -0.1495743),
            (100.5, 0.3000000, 0.1548387),
            (255.875, -0.3654877, -0.3723585),
            (256.125, 0.3879608, 0.4676270),
            (511.0625, 0.1180680, 0.1181853),
            (999.9375, 0.0241127, -0.0785452),
        ];
        for (x, one, five) in golden {
            assert!((perlin(x, 1) - one).abs() < 1e-6, "{x}: {} not {one}", perlin(x, 1));
            assert!((perlin(x, 5) - five).abs() < 1e-6, "{x}: {} not {five}", perlin(x, 5));
        }
    }
}
