//! The sequences of the original's records.

use ndarray::Array2;

use crate::{
    FrameShape, SchemaError,
    frame::tensor,
    proto::example::{Example, FeatureListView, FeatureView},
    schema::{Domain, byte_string, lists},
};

const DONE_STEP: &str = "done_step";

#[derive(Debug)]
pub(super) enum Observations<'a> {
    Frames { shape: FrameShape, frames: Vec<&'a [u8]> },
    Vectors(Rows),
}

#[derive(Debug)]
pub(super) enum Actions {
    Floats(Rows),
    Indices(Vec<i64>),
}

/// Finite floats, `[steps, width]`.
#[derive(Debug)]
pub(super) struct Rows {
    pub(super) steps: usize,
    pub(super) width: usize,
    values: Vec<f32>,
}

impl<'a> Observations<'a> {
    pub(super) fn read(list: FeatureListView<'a>) -> Result<Self, SchemaError> {
        let first = list.features().next().transpose()?;
        let first = first.map(FeatureView::parse).transpose()?;
        if !matches!(first, Some(FeatureView::Bytes(_))) {
            return Rows::read(lists::OBSERVATIONS, Domain::Finite, list).map(Self::Vectors);
        }
        let mut found: Option<FrameShape> = None;
        let mut frames = Vec::new();
        for (step, feature) in list.features().enumerate() {
            let tensor = byte_string(lists::OBSERVATIONS, step, feature?)?;
            let (shape, frame) = tensor::parse_frame(tensor)
                .map_err(|source| SchemaError::Frame { step, source })?;
            let expected = *found.get_or_insert(shape);
            if shape != expected {
                return Err(SchemaError::Shape {
                    key: lists::OBSERVATIONS,
                    step: Some(step),
                    found: format!("{shape:?}"),
                    expected: format!("{expected:?}"),
                });
            }
            frames.push(frame);
        }
        match found {
            Some(shape) => Ok(Self::Frames { shape, frames }),
            None => Err(shape(lists::OBSERVATIONS, "0 steps".to_owned(), "at least 1")),
        }
    }

    pub(super) fn steps(&self) -> usize {
        match self {
            Self::Frames { frames, .. } => frames.len(),
            Self::Vectors(rows) => rows.steps,
        }
    }

    /// The shape of one of them.
    pub(super) fn shape(&self) -> Vec<usize> {
        match self {
            Self::Frames { shape: FrameShape { height, width, channels }, .. } => {
                vec![*height, *width, *channels]
            }
            Self::Vectors(rows) => vec![rows.width],
        }
    }
}

impl Actions {
    pub(super) fn read(list: FeatureListView<'_>) -> Result<Self, SchemaError> {
        let first = list.features().next().transpose()?;
        let first = first.map(FeatureView::parse).transpose()?;
        if !matches!(first, Some(FeatureView::Ints(_))) {
            return Rows::read(lists::ACTIONS, Domain::Finite, list).map(Self::Floats);
        }
        let read = |(step, feature): (usize, Result<_, _>)| {
            one_int(lists::ACTIONS, Some(step), &FeatureView::parse(feature?)?)
        };
        list.features().enumerate().map(read).collect::<Result<_, _>>().map(Self::Indices)
    }

    pub(super) fn steps(&self) -> usize {
        match self {
            Self::Floats(rows) => rows.steps,
            Self::Indices(indices) => indices.len(),
        }
    }

    pub(super) fn width(&self) -> usize {
        match self {
            Self::Floats(rows) => rows.width,
            Self::Indices(_) => 1,
        }
    }

    /// The first `width` values of each of the first `steps` actions, of which there are as many.
    pub(super) fn values(&self, steps: usize, width: usize) -> Array2<f32> {
        Array2::from_shape_fn((steps, width), |(step, i)| match self {
            Self::Floats(rows) => rows.values[step * rows.width + i],
            Self::Indices(indices) => indices[step] as f32,
        })
    }
}

impl Rows {
    pub(super) fn read(
        key: &'static str,
        domain: Domain,
        list: FeatureListView<'_>,
    ) -> Result<Self, SchemaError> {
        let (mut steps, mut width) = (0, 0);
        let mut values = Vec::with_capacity(list.bytes() / 4);
        for feature in list.features() {
            let feature = FeatureView::parse(feature?)?;
            let start = values.len();
            let floats = feature.append_floats(&mut values)?;
            let found = values.len() - start;
            if steps == 0 {
                width = found;
            }
            if !floats || found != width || width == 0 {
                let count = if width == 0 { String::new() } else { format!("{width} ") };
                return Err(SchemaError::Shape {
                    key,
                    step: Some(steps),
                    found: feature.describe(),
                    expected: format!("{count}floats"),
                });
            }
            steps += 1;
        }
        if steps == 0 {
            return Err(shape(key, "0 steps".to_owned(), "at least 1"));
        }
        domain.check(key, 0, width, &values)?;
        Ok(Self { steps, width, values })
    }

    pub(super) fn dim(&self) -> (usize, usize) {
        (self.steps, self.width)
    }

    /// The values of the first `steps` steps, of which there are at least as many.
    pub(super) fn first(&self, steps: usize) -> Vec<f32> {
        self.values[..steps * self.width].to_vec()
    }
}

pub(super) fn required<'a>(
    example: &Example<'a>,
    key: &'static str,
) -> Result<FeatureListView<'a>, SchemaError> {
    example.list(key)?.ok_or(SchemaError::Missing { key, part: "feature_lists" })
}

/// How many of the `stored` steps are of the first episode, by `done_step`. The original stores that
/// as a sequence of one step; as a feature of the whole rollout it means the same.
pub(super) fn steps_of_first_episode(
    example: &Example<'_>,
    stored: usize,
) -> Result<usize, SchemaError> {
    let feature = match example.list(DONE_STEP)? {
        Some(list) => {
            let mut features = list.features();
            match (features.next().transpose()?, features.next().transpose()?) {
                (Some(feature), None) => Some(FeatureView::parse(feature)?),
                _ => return Err(shape(DONE_STEP, "0 or several steps".to_owned(), "1 step")),
            }
        }
        None => example.feature(DONE_STEP)?,
    };
    let Some(feature) = feature else { return Ok(stored) };
    let done = one_int(DONE_STEP, None, &feature)?;
    let steps = usize::try_from(done).ok().filter(|steps| (1..=stored).contains(steps));
    steps.ok_or_else(|| shape(DONE_STEP, done.to_string(), format!("1 to {stored}")))
}

fn one_int(
    key: &'static str,
    step: Option<usize>,
    feature: &FeatureView<'_>,
) -> Result<i64, SchemaError> {
    let mut values = feature.ints().into_iter().flatten();
    match (values.next().transpose()?, values.next().transpose()?) {
        (Some(value), None) => Ok(value),
        _ => {
            let found = feature.describe();
            Err(SchemaError::Shape { key, step, found, expected: "1 integer".to_owned() })
        }
    }
}

pub(super) fn shape(key: &'static str, found: String, expected: impl Into<String>) -> SchemaError {
    SchemaError::Shape { key, step: None, found, expected: expected.into() }
}
