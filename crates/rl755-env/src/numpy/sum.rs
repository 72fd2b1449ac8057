//! The order in which NumPy adds.

use std::{array, ops::Add};

/// `np.sum` of fewer than 129 values that lie one after another: below eight in order, from eight
/// on in eight sums that are added in pairs, the rest at the end.
pub fn sum<T: Copy + Default + Add<Output = T>>(values: &[T]) -> T {
    let add = |sum: T, &value: &T| sum + value;
    let (rows, rest) = values.as_chunks::<8>();
    let Some((first, others)) = rows.split_first() else {
        return rest.iter().fold(T::default(), add);
    };
    let s = others.iter().fold(*first, |sums, row| array::from_fn(|i| sums[i] + row[i]));
    let eight = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    rest.iter().fold(eight, add)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected bits by NumPy 2.4.6: `np.sum(1 / np.arange(1, n + 1, dtype=dtype))`.
    #[test]
    fn sums_have_numpys_bits() {
        let single = |n: u16| sum(&(1..=n).map(|i| 1.0 / f32::from(i)).collect::<Vec<f32>>());
        let double = |n: u16| sum(&(1..=n).map(|i| 1.0 / f64::from(i)).collect::<Vec<f64>>());
        let bits = [0x4025_f160, 0x402d_f160, 0x4069_4d90, 0x40a0_7278];
        assert_eq!([7, 8, 21, 84].map(|n| single(n).to_bits()), bits);
        let bits = [
            0x4004_be2b_e2be_2be2,
            0x4005_be2b_e2be_2be2,
            0x400d_29b1_d319_28a3,
            0x4014_0e4e_f27a_45c7,
        ];
        assert_eq!([7, 8, 21, 84].map(|n| double(n).to_bits()), bits);
    }
}
