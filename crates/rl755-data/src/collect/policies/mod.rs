//! The policies of the World Models recipe: random, with different amounts of inertia.

mod brownian;
mod perlin;
mod repeated;
mod smooth;
mod uniform;

pub(crate) use brownian::Brownian;
pub(crate) use repeated::Repeated;
pub(crate) use smooth::Smooth;
pub(crate) use uniform::Uniform;

use rl755_env::Space;

use crate::PolicyError;

/// How far noise of size 1 reaches in each element of an action space.
///
/// It is the larger bound's magnitude, so that noise in [-1, 1] reaches both ends; 1 where an
/// element is unbounded. CarRacing's elements, in [-1, 1] and [0, 1], have 1, so that noise made
/// for them is used as it is.
fn noise_scale(space: &Space, index: usize) -> f64 {
    let (low, high) = space.bounds(index);
    let reach = f64::from(low.abs().max(high.abs()));
    if reach.is_finite() { reach } else { 1.0 }
}

/// Continuous noise cannot choose pixels.
fn check_space(space: &Space) -> Result<(), PolicyError> {
    match space {
        Space::Image { .. } => {
            let reason = "its actions are pictures".to_owned();
            Err(PolicyError::Unsuitable { reason })
        }
        _ => Ok(()),
    }
}
