//! What flags accept, with errors that say so.

use rl755_data::FrameFormat;

/// A number greater than 0.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        Ok(value) => Err(format!("{value} is not greater than 0")),
        Err(_) => Err("that is not a number".to_owned()),
    }
}

/// A JSON object.
pub(crate) fn object(text: &str) -> Result<serde_json::Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ serde_json::Value::Object(_)) => Ok(value),
        Ok(_) => Err("that is no JSON object, such as {\"beta\": 2.0}".to_owned()),
        Err(error) => Err(format!("that is no JSON: {error}")),
    }
}

/// How frames are stored.
pub(crate) fn frame_format(text: &str) -> Result<FrameFormat, String> {
    FrameFormat::named(text).ok_or_else(|| {
        let names: Vec<_> = FrameFormat::ALL.map(|format| format!("`{format}`")).into();
        format!("it must be {}", names.join(" or "))
    })
}

/// How many steps, batches or generations there are, one after another.
pub(crate) fn at_least_1(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(value) if value >= 1 => Ok(value),
        _ => Err("it must be a whole number of at least 1".to_owned()),
    }
}

/// How many steps an episode has.
pub(crate) fn steps(text: &str) -> Result<u32, String> {
    let from_1_to_most = text.parse().ok().filter(|&value| value >= 1);
    from_1_to_most.ok_or_else(|| format!("it must be a whole number from 1 to {}", u32::MAX))
}

/// How many of something are held in memory or on disk at once: with more, a slip of the finger
/// would end the program without a word.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    from_1_to(1_000_000, text)
}

/// How many threads.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    from_1_to(1024, text)
}

fn from_1_to(most: usize, text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(value) if (1..=most).contains(&value) => Ok(value),
        _ => Err(format!("it must be a whole number from 1 to {most}")),
    }
}
