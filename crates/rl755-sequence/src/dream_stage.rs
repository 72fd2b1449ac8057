//! The pictures of a dream in a run directory.

use std::path::{Path, PathBuf};

use ndarray::{ArrayView2, Axis, s};
use rl755_data::{EncodedRollout, Split};
use rl755_run::{Random, RunError, write_atomically};

use crate::{
    DecodeLatents, Gaps, SequenceError, SequenceModel, dream,
    dream_picture::{Picture, frames_picture, latents_picture, shown_steps},
};

/// Latents that a dream begins with.
const SEEN: usize = 10;

/// Steps that are dreamt, where the rollout is long enough.
const STEPS: usize = 60;

/// Latents in a span that is masked in the picture of infilling, and between two of them.
const MASKED: usize = 6;

/// A picture with its name.
pub(crate) type Named = (&'static str, Picture);

/// Dreams the same rollout anew with each model, and draws it.
pub(crate) struct DreamStage {
    /// `None` when no rollout is long enough to be dreamt.
    rollout: Option<EncodedRollout>,
    directory: PathBuf,
    seed: u64,
}

impl DreamStage {
    /// Pictures go into `directory`; the rollout is the first of `split` that is long enough for a
    /// whole dream, or the longest.
    pub(crate) fn new(split: &Split, directory: &Path, seed: u64) -> Result<Self, SequenceError> {
        let whole = (0..split.len()).find(|&index| split.steps(index) >= SEEN + STEPS);
        let longest = || {
            let longer = (0..split.len()).filter(|&index| split.steps(index) > SEEN);
            // The first of several.
            longer.rev().max_by_key(|&index| split.steps(index))
        };
        let rollout = whole.or_else(longest).map(|index| split.rollout(index)).transpose()?;
        Ok(Self { rollout, directory: directory.to_owned(), seed })
    }

    /// Dreams with `model` at temperature 1 and writes `dream_latents.png`, where latents can be
    /// decoded `dream.png`, and where the model can fill in latents `infilling_latents.png`.
    pub(crate) fn paint(
        &self,
        model: &dyn SequenceModel,
        decode: Option<&DecodeLatents<'_>>,
    ) -> Result<Vec<Named>, SequenceError> {
        let Some(rollout) = &self.rollout else { return Ok(Vec::new()) };
        // From the middle: episodes begin with much that does not happen later.
        let steps = STEPS.min(rollout.steps() - SEEN);
        let begin = (rollout.steps() - SEEN - steps) / 2;
        let (middle, end) = (begin + SEEN, begin + SEEN + steps);
        let seen = rollout.latents.slice(s![begin..middle, ..]);
        let real = rollout.latents.slice(s![middle..end, ..]);
        let actions = rollout.actions.slice(s![begin..end - 1, ..]);
        let dreamt = dream(model, seen, actions, 1.0, self.seed)?;

        let mut pictures = Vec::new();
        if let Some(picture) = latents_picture(&[real, dreamt.view()]) {
            pictures.push(("dream_latents", picture));
        }
        let chosen = rollout.actions.slice(s![middle..end, ..]);
        if let Some(picture) = self.infilling(model, real, chosen)? {
            pictures.push(("infilling_latents", picture));
        }
        if let Some(decode) = decode {
            let shown = shown_steps(real.nrows());
            let frames =
                |latents: &ArrayView2<'_, f32>| decode(latents.select(Axis(0), &shown).view());
            if let (Some(real), Some(dreamt)) = (frames(&real), frames(&dreamt.view()))
                && let Some(picture) = frames_picture(&real, &dreamt)
            {
                pictures.push(("dream", picture));
            }
        }
        for (name, picture) in &pictures {
            let path = self.directory.join(format!("{name}.png"));
            write_atomically(&path, &picture.png).map_err(RunError::io(&path))?;
        }
        Ok(pictures)
    }

    /// Real latents, the same with every other span masked, and those filled in.
    fn infilling(
        &self,
        model: &dyn SequenceModel,
        real: ArrayView2<'_, f32>,
        actions: ArrayView2<'_, f32>,
    ) -> Result<Option<Picture>, SequenceError> {
        let known: Vec<bool> =
            (0..real.nrows()).map(|step| (step / MASKED).is_multiple_of(2)).collect();
        let mut masked = real.to_owned();
        for (mut latent, _) in masked.rows_mut().into_iter().zip(&known).filter(|(_, k)| !**k) {
            latent.fill(f32::NAN);
        }
        let gaps = Gaps { latents: masked.view(), actions, known: &known };
        let mut random = Random::derived(self.seed, "infilling", 0);
        match model.fill(&gaps, 1.0, &mut random) {
            Ok(filled) => Ok(latents_picture(&[real, masked.view(), filled.view()])),
            Err(SequenceError::CannotFill) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
