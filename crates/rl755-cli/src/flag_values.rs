//! What flags accept, with errors that say so.

use std::path::PathBuf;

use rl755_data::FrameFormat;
use rl755_run::Choice;

/// A number greater than 0.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        Ok(value) => Err(format!("{value} is not greater than 0")),
        Err(_) => Err("that is not a number".to_owned()),
    }
}

/// A number whose range is that of the setting it becomes, which names it.
pub(crate) fn number(text: &str) -> Result<f64, String> {
    text.parse().map_err(|_| "that is not a number".to_owned())
}

/// The decay of a moving average.
pub(crate) fn decay(text: &str) -> Result<f64, String> {
    let below_1 = text.parse().ok().filter(|value| (0.0..1.0).contains(value));
    below_1.ok_or_else(|| "it must be a number from 0 to below 1".to_owned())
}

/// A whole number.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("it must be a whole number from 0 to {}", u64::MAX))
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

/// A checkpoint: its number, `best` or `last`.
pub(crate) fn checkpoint(text: &str) -> Result<Choice, String> {
    match text {
        "best" => Ok(Choice::Best),
        "last" => Ok(Choice::Last),
        number => number
            .parse()
            .map(Choice::Number)
            .map_err(|_| "it must be the number of a checkpoint, best or last".to_owned()),
    }
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
    at_most::<{ u32::MAX }>(text)
}

/// How many of something are held in memory or on disk at once: with more, a slip of the finger
/// would end the program without a word.
pub(crate) fn count(text: &str) -> Result<usize, String> {
    from_1_to(1_000_000, text)
}

/// How many of something that is done one after another.
pub(crate) fn at_most<const MOST: u32>(text: &str) -> Result<u32, String> {
    let from_1_to_most = text.parse().ok().filter(|value| (1..=MOST).contains(value));
    from_1_to_most.ok_or_else(|| format!("it must be a whole number from 1 to {MOST}"))
}

/// How many units a layer has.
pub(crate) fn units(text: &str) -> Result<usize, String> {
    from_1_to(1024, text)
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

/// A number of bytes, such as `64MB`, `1.5GiB` or `4096`. As in dd and Slurm, `K`, `M`, `G` and `T`
/// alone are powers of 1024, while `MB` is a million.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 14] = [
        ("", 1),
        ("b", 1),
        ("kb", 1_000),
        ("mb", 1_000_000),
        ("gb", 1_000_000_000),
        ("tb", 1_000_000_000_000),
        ("k", 1 << 10),
        ("m", 1 << 20),
        ("g", 1 << 30),
        ("t", 1 << 40),
        ("kib", 1 << 10),
        ("mib", 1 << 20),
        ("gib", 1 << 30),
        ("tib", 1 << 40),
    ];
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let unit = text[end..].trim().to_lowercase();
    let unit = UNITS.iter().find(|(name, _)| *name == unit);
    let size = match (text[..end].parse::<f64>(), unit) {
        (Ok(number), Some((_, unit))) => number * *unit as f64,
        _ => f64::NAN,
    };
    // Beyond 2^53 a float does not hold every number.
    if size >= 0.0 && size < (1u64 << 53) as f64 {
        Ok(size as u64)
    } else {
        Err("it must be a size, such as 64MB, 1.5GiB or 1.5G, which is GiB".to_owned())
    }
}

/// The name of a video: a slip must not overwrite another kind of file.
pub(crate) fn webm(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.extension().is_some_and(|extension| extension == "webm") {
        return Ok(path);
    }
    Err("the name of a video ends in .webm".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_or_binary_units() {
        for (text, expected) in [
            ("4096", Some(4096)),
            ("64MB", Some(64_000_000)),
            ("1.5 GiB", Some(3 << 29)),
            ("2k", Some(2048)),
            ("64M", Some(64 << 20)),
            ("1.5G", Some(3 << 29)),
            ("20g", Some(20 << 30)),
            ("1kB", Some(1000)),
            ("0", Some(0)),
            ("1.5X", None),
            ("-1MB", None),
            ("MB", None),
            ("1e99", None),
            ("9999999TB", None),
        ] {
            assert_eq!(bytes(text).ok(), expected, "{text}");
        }
    }
}
