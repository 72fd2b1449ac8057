//! Names that users type: an unknown one is answered with the known ones and the nearest.

/// A name that nothing is registered under.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {kind} is called `{name}`{}; known are {}",
    nearest.as_ref().map(|n| format!(" (did you mean `{n}`?)")).unwrap_or_default(), known.join(", "))]
pub struct UnknownName {
    /// What was looked for: `encoder`, `policy`.
    pub kind: &'static str,
    /// The name as typed.
    pub name: String,
    /// The known name closest to it.
    pub nearest: Option<String>,
    /// Every known name.
    pub known: Vec<String>,
}

impl UnknownName {
    /// The error for `name` among `known`.
    pub fn new(kind: &'static str, name: &str, known: Vec<String>) -> Self {
        let nearest = nearest(name, known.iter().map(String::as_str)).map(str::to_owned);
        Self { kind, name: name.to_owned(), nearest, known }
    }
}

/// The one of `known` that `name` most likely meant: one that it begins, or else the one with the
/// fewest typing errors, if they are few.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.trim().to_lowercase();
    let errors = |known: &str| match known.to_lowercase() {
        known if known.starts_with(&wanted) => 0,
        known => strsim::damerau_levenshtein(&wanted, &known),
    };
    known
        .into_iter()
        .filter(|_| !wanted.is_empty())
        .map(|known| (errors(known), known))
        .filter(|(errors, known)| *errors <= known.len().div_ceil(3))
        .min()
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_has_the_fewest_typing_errors() {
        let known = ["vae-64", "vae-96", "identity"];
        for (name, expected) in [
            ("vae-65", Some("vae-64")),
            ("VAE", Some("vae-64")),
            ("idnetity", Some("identity")),
            ("transformer", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known), expected, "{name}");
        }
    }
}
