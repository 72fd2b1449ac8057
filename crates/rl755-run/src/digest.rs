//! Digests of files and bytes, so that a stage knows whether its input changed.

use std::{fmt, io, path::Path};

use serde::{Deserialize, Serialize};

/// A BLAKE3 digest as 64 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Digest(String);

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
