//! `--device`: where the models run, perhaps on several devices of a kind.

use std::{fmt, str::FromStr};

/// `flex`, `tch`, `cuda:0` or, for the stage that fans out, `cuda:0,1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Devices {
    kind: String,
    indices: Vec<usize>,
}

impl Devices {
    /// The processor.
    pub(crate) fn cpu() -> Self {
        Self { kind: "flex".to_owned(), indices: Vec::new() }
    }

    /// The feature of rl755-cli that the stages need.
    pub(crate) fn feature(&self) -> Option<&str> {
        (self.kind != "flex").then_some(self.kind.as_str())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.indices.len().max(1)
    }

    /// Device number `slot`, as the stages take it.
    pub(crate) fn name(&self, slot: usize) -> String {
        match self.indices.get(slot) {
            Some(index) => format!("{}:{index}", self.kind),
            None => self.kind.clone(),
        }
    }
}

impl FromStr for Devices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = "known are flex, tch, cuda:0, and cuda:0,1,… for several GPUs";
        let (kind, list) = match text.split_once(':') {
            Some((kind, list)) => (kind, Some(list)),
            None => (text, None),
        };
        let indices = list.map_or(Ok(vec![]), |list| {
            list.split(',').map(str::parse).collect::<Result<Vec<usize>, _>>()
        });
        let indices = indices.map_err(|_| {
            format!("`{text}` needs numbers of GPUs after the colon, as in cuda:0,1")
        })?;
        if (1..indices.len()).any(|i| indices[..i].contains(&indices[i])) {
            return Err(format!("`{text}` names a GPU twice"));
        }
        match (kind, indices.len()) {
            ("flex", 0) | ("tch" | "cuda", _) => Ok(Self { kind: kind.to_owned(), indices }),
            ("flex", _) => Err(format!("flex is the CPU and takes no number; {known}")),
            _ => Err(format!("no device is called `{text}`; {known}")),
        }
    }
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indices: Vec<String> = self.indices.iter().map(usize::to_string).collect();
        f.write_str(&self.kind)?;
        if indices.is_empty() { Ok(()) } else { write!(f, ":{}", indices.join(",")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_and_written_alike() {
        for text in ["flex", "tch", "cuda", "cuda:0", "cuda:2,0,1", "tch:0"] {
            assert_eq!(text.parse::<Devices>().unwrap().to_string(), text);
        }
        let devices: Devices = "cuda:2,0".parse().unwrap();
        assert_eq!(
            (devices.count(), devices.name(0), devices.name(1)),
            (2, "cuda:2".into(), "cuda:0".into())
        );
        assert_eq!("flex".parse::<Devices>().unwrap().feature(), None);
    }

    #[test]
    fn wrong_devices_are_explained() {
        let error = |text: &str| text.parse::<Devices>().unwrap_err();
        assert!(error("gpu").contains("known are flex"));
        assert!(error("cuda:a").contains("needs numbers"));
        assert!(error("cuda:1,1").contains("twice"));
        assert!(error("flex:0").contains("takes no number"));
    }
}
