//! Dreams: episodes that go on in the model alone.

use ndarray::{Array2, ArrayView2, Axis};
use rl755_run::Random;

use crate::{SequenceError, SequenceModel};

/// Shows `model` the latents `seen`, `[seen, latent]`, then feeds it its own predictions, drawn at
/// `temperature` from `seed`.
///
/// `actions`, `[seen + steps - 1, action]`, are those chosen at the latents seen and then at each
/// one dreamt except the last. Gives the latents dreamt, `[steps, latent]`.
///
/// # Errors
/// When nothing is seen, there are fewer actions than latents seen, a width is wrong, or
/// `temperature` is negative or not finite.
///
/// ```
/// use burn::tensor::Device;
/// use ndarray::Array2;
/// use rl755_sequence::{MdnRnn, MdnRnnConfig, SequenceNetwork, Sizes, dream, trained};
///
/// let sizes = Sizes { latent: 4, action: 2, sequence_length: 16 };
/// let network = MdnRnn::init(&MdnRnnConfig::default(), &sizes, &Device::flex())?;
/// let model = trained(&network, sizes, false);
/// let (seen, actions) = (Array2::zeros((3, 4)), Array2::zeros((12, 2)));
/// let dreamt = dream(&*model, seen.view(), actions.view(), 1.0, 7)?;
/// assert_eq!(dreamt.dim(), (10, 4));
/// # Ok::<(), rl755_sequence::SequenceError>(())
/// ```
pub fn dream(
    model: &dyn SequenceModel,
    seen: ArrayView2<'_, f32>,
    actions: ArrayView2<'_, f32>,
    temperature: f64,
    seed: u64,
) -> Result<Array2<f32>, SequenceError> {
    if seen.nrows() == 0 {
        return Err(SequenceError::NothingSeen);
    }
    if actions.nrows() < seen.nrows() {
        return Err(SequenceError::Shape {
            what: "actions",
            found: actions.shape().to_vec(),
            expected: vec![seen.nrows(), model.action_size()],
        });
    }
    let mut session = model.session(1);
    let mut random = [Random::derived(seed, "dream", 0)];
    let mut dreamt = Array2::zeros((actions.nrows() + 1 - seen.nrows(), model.latent_size()));
    let (shown, rest) = actions.split_at(Axis(0), seen.nrows());
    for (latent, action) in
        seen.axis_chunks_iter(Axis(0), 1).zip(shown.axis_chunks_iter(Axis(0), 1))
    {
        session.step(latent, action)?;
    }
    let mut latent = session.predict(temperature, &mut random)?;
    dreamt.row_mut(0).assign(&latent.row(0));
    for (action, mut row) in
        rest.axis_chunks_iter(Axis(0), 1).zip(dreamt.rows_mut().into_iter().skip(1))
    {
        session.step(latent.view(), action)?;
        latent = session.predict(temperature, &mut random)?;
        row.assign(&latent.row(0));
    }
    Ok(dreamt)
}
