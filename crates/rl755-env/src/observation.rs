//! Observations as buffers that environments write into.

use crate::{Element, EnvError, EnvSpec, Space};

/// Where an environment writes an observation, row-major in the observation space's shape.
#[derive(Debug)]
pub enum ObservationMut<'a> {
    /// Bytes, such as a frame `[height, width, channel]` in 0..=255.
    U8(&'a mut [u8]),
    /// Numbers, such as a state vector.
    F32(&'a mut [f32]),
}

impl<'a> ObservationMut<'a> {
    /// The buffer as bytes, if it fits `spec`'s observation space; for `Env` implementations.
    ///
    /// # Errors
    /// [`EnvError::ObservationBuffer`] when it holds floats or has another length.
    pub fn bytes(self, spec: &EnvSpec) -> Result<&'a mut [u8], EnvError> {
        match self {
            Self::U8(bytes) if bytes.len() == spec.observation_space.width() => Ok(bytes),
            other => Err(other.misfit(spec)),
        }
    }

    /// The buffer as floats, if it fits `spec`'s observation space; for `Env` implementations.
    ///
    /// # Errors
    /// [`EnvError::ObservationBuffer`] when it holds bytes or has another length.
    pub fn floats(self, spec: &EnvSpec) -> Result<&'a mut [f32], EnvError> {
        match self {
            Self::F32(values) if values.len() == spec.observation_space.width() => Ok(values),
            other => Err(other.misfit(spec)),
        }
    }

    /// The same buffer, borrowed for less long.
    pub fn reborrow(&mut self) -> ObservationMut<'_> {
        match self {
            Self::U8(v) => ObservationMut::U8(v),
            Self::F32(v) => ObservationMut::F32(v),
        }
    }

    fn misfit(&self, spec: &EnvSpec) -> EnvError {
        let (len, element) = match self {
            Self::U8(v) => (v.len(), Element::U8),
            Self::F32(v) => (v.len(), Element::F32),
        };
        let space = &spec.observation_space;
        EnvError::ObservationBuffer {
            env: spec.id.clone(),
            got: format!("{len} {element}"),
            expected: format!("{} {}", space.width(), space.element()),
        }
    }
}

/// An observation to read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ObservationRef<'a> {
    /// Bytes, such as a frame `[height, width, channel]` in 0..=255.
    U8(&'a [u8]),
    /// Numbers, such as a state vector.
    F32(&'a [f32]),
}

/// Owned observations: one, or a batch of them one after another.
#[derive(Clone, Debug, PartialEq)]
pub enum ObservationBuffer {
    /// Bytes.
    U8(Vec<u8>),
    /// Numbers.
    F32(Vec<f32>),
}

impl ObservationBuffer {
    /// A buffer of zeros for `count` observations of `space`.
    pub fn zeros(space: &Space, count: usize) -> Self {
        let len = space.width() * count;
        match space.element() {
            Element::U8 => Self::U8(vec![0; len]),
            Element::F32 => Self::F32(vec![0.0; len]),
        }
    }

    /// The whole buffer, to write.
    pub fn as_mut(&mut self) -> ObservationMut<'_> {
        match self {
            Self::U8(v) => ObservationMut::U8(v),
            Self::F32(v) => ObservationMut::F32(v),
        }
    }

    /// The whole buffer, to read.
    pub fn as_ref(&self) -> ObservationRef<'_> {
        match self {
            Self::U8(v) => ObservationRef::U8(v),
            Self::F32(v) => ObservationRef::F32(v),
        }
    }

    /// Observation `index` of a batch whose observations have `width` elements.
    ///
    /// # Panics
    /// When the batch is shorter.
    pub fn row(&self, index: usize, width: usize) -> ObservationRef<'_> {
        let range = index * width..(index + 1) * width;
        match self {
            Self::U8(v) => ObservationRef::U8(&v[range]),
            Self::F32(v) => ObservationRef::F32(&v[range]),
        }
    }
}
