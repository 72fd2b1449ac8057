//! Digests of files and bytes, so that a stage knows whether its input changed.

use std::{fmt, io, path::Path};

use serde::{Deserialize, Serialize};

/// A BLAKE3 digest as 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest(String);

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() == 2 * blake3::OUT_LEN && text.bytes().all(is_digit) {
            return Ok(Self(text));
        }
        Err(format!("`{text}` is no digest, which has 64 hexadecimal digits"))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The digest of `bytes`.
pub fn digest_bytes(bytes: &[u8]) -> Digest {
    Digest(blake3::hash(bytes).to_hex().to_string())
}

/// The digest of a file's bytes, read in pieces.
///
/// # Errors
/// When the file cannot be read.
pub fn digest_file(path: &Path) -> io::Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(std::fs::File::open(path)?)?;
    Ok(Digest(hasher.finalize().to_hex().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_read_as_they_are_written_and_nothing_else_is() {
        let digest = digest_bytes(b"a");
        let text = serde_json::to_string(&digest).unwrap();
        assert_eq!(serde_json::from_str::<Digest>(&text).unwrap(), digest);
        for other in ["zz".to_owned(), "g".repeat(64), "A".repeat(64), "0".repeat(65)] {
            assert!(Digest::try_from(other).is_err());
        }
    }
}
