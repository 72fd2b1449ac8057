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

/// The one of `known` that `name` most likely meant, if any is close.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = name.to_lowercase();
    known
        .into_iter()
        .map(|k| (strsim::jaro_winkler(&lower, &k.to_lowercase()), k))
        .filter(|(similarity, _)| *similarity > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, k)| k)
}
