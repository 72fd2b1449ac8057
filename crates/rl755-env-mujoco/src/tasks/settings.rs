//! What is wrong with settings that several tasks have.

/// Far beyond what makes sense, and small enough that rewards stay finite.
const MOST_WEIGHT: f64 = 1e9;
/// MuJoCo starts anew by itself from what goes beyond 10,000,000,000.
const MOST_NOISE: f64 = 1e6;

/// Refuses a `reset_noise_scale` that is none.
pub(super) fn check_noise(reset_noise_scale: f64) -> Result<(), String> {
    if (0.0..=MOST_NOISE).contains(&reset_noise_scale) {
        return Ok(());
    }
    Err(format!("reset_noise_scale is {reset_noise_scale}; it must be 0 to {MOST_NOISE:e}"))
}

/// Refuses weights that would make rewards infinite.
pub(super) fn check_weights(weights: &[(&str, f64)]) -> Result<(), String> {
    let allowed = -MOST_WEIGHT..=MOST_WEIGHT;
    match weights.iter().find(|(_, weight)| !allowed.contains(weight)) {
        Some((name, weight)) => {
            Err(format!("{name} is {weight}; it must be -{MOST_WEIGHT:e} to {MOST_WEIGHT:e}"))
        }
        None => Ok(()),
    }
}

/// Refuses a range that holds nothing.
pub(super) fn check_range(name: &str, [low, high]: [f64; 2]) -> Result<(), String> {
    if low < high {
        return Ok(());
    }
    Err(format!("{name} is [{low},{high}]; its first value must be less than its second"))
}
