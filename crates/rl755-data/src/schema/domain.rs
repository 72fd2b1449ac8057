//! What the floats of a step may be, and their features.

use ndarray::ArrayView2;
use rl755_env::Space;

use super::SchemaError;
use crate::proto::Feature;

/// What the floats of a sequence may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Domain {
    /// All but NaN and the infinities.
    Finite,
    /// Finite and 0 or more.
    NotNegative,
    /// Whole numbers from 0 to n - 1.
    Index {
        /// How many there are.
        n: usize,
    },
}

impl Domain {
    /// That of a space's values. The bounds of a [`Space::Box`] are not among it: environments clip
    /// what exceeds them, and policies such as the original's count on that.
    pub(crate) fn of(space: &Space) -> Self {
        match *space {
            Space::Discrete { n } => Self::Index { n },
            Space::Box { .. } | Space::Image { .. } => Self::Finite,
        }
    }

    fn contains(self, value: f32) -> bool {
        match self {
            Self::Finite => value.is_finite(),
            Self::NotNegative => value.is_finite() && value >= 0.0,
            Self::Index { n } => value >= 0.0 && (value as f64) < n as f64 && value.fract() == 0.0,
        }
    }

    /// Checks rows of `width` values, the first of which is of step `first_step`.
    pub(crate) fn check(
        self,
        key: &'static str,
        first_step: usize,
        width: usize,
        values: &[f32],
    ) -> Result<(), SchemaError> {
        // Without a way out before the end, so that several are compared at once.
        if values.iter().fold(true, |all, &value| all & self.contains(value)) {
            return Ok(());
        }
        let index = values.iter().position(|&value| !self.contains(value)).unwrap_or_default();
        Err(SchemaError::Value {
            key,
            step: Some(first_step + index / width),
            found: values[index].to_string(),
            expected: match self {
                Self::Finite => "a finite number".to_owned(),
                Self::NotNegative => "a finite number of at least 0".to_owned(),
                Self::Index { n } => format!("a whole number from 0 to {}", n.saturating_sub(1)),
            },
        })
    }
}

/// The feature of a step's `width` floats.
///
/// # Errors
/// When there are fewer or more, or one is outside the domain.
pub(crate) fn float_row(
    key: &'static str,
    step: usize,
    width: usize,
    domain: Domain,
    values: &[f32],
) -> Result<Feature, SchemaError> {
    if values.len() != width {
        return Err(SchemaError::Shape {
            key,
            step: Some(step),
            found: format!("{} floats", values.len()),
            expected: format!("{width} floats"),
        });
    }
    domain.check(key, step, width, values)?;
    Ok(Feature::floats(values.to_vec()))
}

/// A feature of floats for each row of `values`, `[steps, width]`.
///
/// # Errors
/// When they have another shape than `shape`, or one is outside the domain.
pub(crate) fn float_rows(
    key: &'static str,
    shape: (usize, usize),
    domain: Domain,
    values: ArrayView2<'_, f32>,
) -> Result<Vec<Feature>, SchemaError> {
    if values.dim() != shape {
        return Err(SchemaError::Shape {
            key,
            step: None,
            found: format!("{:?} floats", values.dim()),
            expected: format!("{shape:?} floats"),
        });
    }
    let rows = values.rows().into_iter().enumerate();
    rows.map(|(step, row)| float_row(key, step, shape.1, domain, &row.to_vec())).collect()
}
