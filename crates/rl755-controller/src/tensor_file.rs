//! Named arrays of floats on disk, as safetensors: read by NumPy and PyTorch through the Python
//! package of that name.

use std::{borrow::Cow, collections::BTreeMap, fs, io, path::Path};

use safetensors::{Dtype, SafeTensors, View};

/// An array to write.
pub(crate) struct Tensor {
    name: &'static str,
    shape: Vec<usize>,
    dtype: Dtype,
    bytes: Vec<u8>,
}

impl Tensor {
    /// In 64 bits.
    pub(crate) fn new(name: &'static str, shape: &[usize], values: &[f64]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self { name, shape: shape.to_vec(), dtype: Dtype::F64, bytes }
    }

    /// In 32 bits.
    pub(crate) fn single(name: &'static str, shape: &[usize], values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self { name, shape: shape.to_vec(), dtype: Dtype::F32, bytes }
    }
}

impl View for &Tensor {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// Writes `tensors` to `path`. The same tensors give the same bytes.
pub(crate) fn write_tensors(path: &Path, tensors: &[Tensor]) -> io::Result<()> {
    let named = tensors.iter().map(|t| (t.name, t));
    let bytes = safetensors::serialize(named, None).map_err(io::Error::other)?;
    fs::write(path, bytes)
}

/// Shapes and values by name; values of 32 bits are widened.
pub(crate) type Tensors = BTreeMap<String, (Vec<usize>, Vec<f64>)>;

/// Reads what [`write_tensors`] wrote.
pub(crate) fn read_tensors(path: &Path) -> io::Result<Tensors> {
    let bytes = fs::read(path)?;
    let file = SafeTensors::deserialize(&bytes).map_err(io::Error::other)?;
    file.iter()
        .map(|(name, view)| {
            let values = match view.dtype() {
                Dtype::F64 => {
                    view.data().as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect()
                }
                Dtype::F32 => {
                    let singles = view.data().as_chunks::<4>().0.iter();
                    singles.map(|b| f64::from(f32::from_le_bytes(*b))).collect()
                }
                other => return Err(io::Error::other(format!("{name} is {other:?}"))),
            };
            Ok((name.to_owned(), (view.shape().to_vec(), values)))
        })
        .collect()
}
