//! What the handle writes to its worker's standard input: frames of a length, a kind and a payload.
//!
//! ```text
//! u32 length of the payload, u8 kind, payload        numbers are little-endian
//! 1 settings   JSON          once, first
//! 2 subject    JSON
//! 3 snapshot   u64 step, u64 milliseconds since 1970, f32 parameters
//! ```

use std::{
    io::{self, Read, Write},
    path::PathBuf,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{Subject, ViewConfig};

/// No frame of JSON is longer.
const LONGEST_JSON: usize = 1 << 20;
/// Bytes of a snapshot before its parameters.
const SNAPSHOT_HEADER: usize = 16;
/// Parameters are converted and allocated by so many bytes at a time.
const CHUNK: usize = 1 << 16;

/// What a worker is told first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct WorkerSettings {
    /// The process that started it.
    pub(crate) parent: u32,
    /// The run's directory.
    pub(crate) run_dir: Option<PathBuf>,
    /// What is shown, and where.
    pub(crate) view: ViewConfig,
    /// The port where the page was served last.
    pub(crate) served: Option<u16>,
}

/// A policy at one time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Snapshot {
    /// Steps of training before it.
    pub(crate) step: u64,
    /// When it was taken, to the millisecond.
    pub(crate) made: SystemTime,
    /// Its parameters.
    pub(crate) parameters: Vec<f32>,
}

/// A frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Message {
    /// How to work.
    Settings(Box<WorkerSettings>),
    /// What to play.
    Subject(Subject),
    /// The newest policy.
    Snapshot(Snapshot),
}

/// A frame that cannot be.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum FrameError {
    /// The pipe broke, or ended within a frame.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Of no known kind.
    #[error("a frame of the unknown kind {0}")]
    Kind(u8),
    /// Of a length that its kind does not have.
    #[error("a frame of kind {kind} has {length} bytes; it must have {expected}")]
    Length { kind: u8, length: usize, expected: String },
    /// Not the JSON that it should be.
    #[error("a frame of kind {kind}: {source}")]
    Json { kind: u8, source: serde_json::Error },
}

/// Writes settings.
pub(crate) fn write_settings(to: &mut impl Write, settings: &WorkerSettings) -> io::Result<()> {
    write_json(to, 1, settings)
}

/// Writes a subject.
pub(crate) fn write_subject(to: &mut impl Write, subject: &Subject) -> io::Result<()> {
    write_json(to, 2, subject)
}

/// Writes a snapshot.
pub(crate) fn write_snapshot(to: &mut impl Write, snapshot: &Snapshot) -> io::Result<()> {
    let made = snapshot.made.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let length = SNAPSHOT_HEADER + 4 * snapshot.parameters.len();
    let mut bytes = Vec::with_capacity(CHUNK.min(length + 5));
    header(&mut bytes, length, 3)?;
    bytes.extend(snapshot.step.to_le_bytes());
    bytes.extend(u64::try_from(made.as_millis()).unwrap_or(u64::MAX).to_le_bytes());
    for part in snapshot.parameters.chunks(CHUNK / 4 - SNAPSHOT_HEADER) {
        bytes.extend(part.iter().flat_map(|p| p.to_le_bytes()));
        to.write_all(&bytes)?;
        bytes.clear();
    }
    to.write_all(&bytes)
}

fn write_json<T: Serialize>(to: &mut impl Write, kind: u8, value: &T) -> io::Result<()> {
    let json = serde_json::to_vec(value)?;
    if json.len() > LONGEST_JSON {
        let message = format!("{} bytes of JSON; at most {LONGEST_JSON} are sent", json.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    let mut bytes = Vec::with_capacity(json.len() + 5);
    header(&mut bytes, json.len(), kind)?;
    bytes.extend(json);
    to.write_all(&bytes)
}

fn header(bytes: &mut Vec<u8>, length: usize, kind: u8) -> io::Result<()> {
    let length = u32::try_from(length).map_err(|_| {
        let message = format!("a frame of {length} bytes; at most {} are sent", u32::MAX);
        io::Error::new(io::ErrorKind::InvalidInput, message)
    })?;
    bytes.extend(length.to_le_bytes());
    bytes.push(kind);
    Ok(())
}

/// Reads frames. A snapshot must have the parameters of the subject before it.
#[derive(Debug)]
pub(crate) struct FrameReader<R> {
    from: R,
    parameters: usize,
}

impl<R: Read> FrameReader<R> {
    /// Reads from `from`.
    pub(crate) fn new(from: R) -> Self {
        Self { from, parameters: 0 }
    }

    /// The next frame; `None` where the input ended between frames.
    pub(crate) fn next(&mut self) -> Result<Option<Message>, FrameError> {
        let mut head = [0; 5];
        if self.from.read(&mut head[..1])? == 0 {
            return Ok(None);
        }
        self.from.read_exact(&mut head[1..])?;
        let [a, b, c, d, kind] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        Ok(Some(match kind {
            1 => Message::Settings(self.json(kind, length)?),
            2 => {
                let subject: Subject = self.json(kind, length)?;
                self.parameters = subject.parameters;
                Message::Subject(subject)
            }
            3 => Message::Snapshot(self.snapshot(length)?),
            _ => return Err(FrameError::Kind(kind)),
        }))
    }

    fn json<T: DeserializeOwned>(&mut self, kind: u8, length: usize) -> Result<T, FrameError> {
        if length > LONGEST_JSON {
            let expected = format!("at most {LONGEST_JSON}");
            return Err(FrameError::Length { kind, length, expected });
        }
        let mut bytes = vec![0; length];
        self.from.read_exact(&mut bytes)?;
        serde_json::from_slice(&bytes).map_err(|source| FrameError::Json { kind, source })
    }

    fn snapshot(&mut self, length: usize) -> Result<Snapshot, FrameError> {
        let expected = self.parameters.checked_mul(4).and_then(|n| n.checked_add(SNAPSHOT_HEADER));
        if expected != Some(length) {
            let expected = format!("{SNAPSHOT_HEADER} and 4 × {}", self.parameters);
            return Err(FrameError::Length { kind: 3, length, expected });
        }
        let mut number = [0; 8];
        self.from.read_exact(&mut number)?;
        let step = u64::from_le_bytes(number);
        self.from.read_exact(&mut number)?;
        // Any time that the clock can have is below 2^53 milliseconds; later ones would overflow.
        let made = Duration::from_millis(u64::from_le_bytes(number).min(1 << 53));
        let mut parameters = Vec::new();
        let mut left = length - SNAPSHOT_HEADER;
        let mut bytes = vec![0; CHUNK.min(left)];
        // Memory is taken as bytes come in, so a length that lies takes none.
        while left > 0 {
            let part = &mut bytes[..CHUNK.min(left)];
            self.from.read_exact(part)?;
            left -= part.len();
            parameters
                .extend(part.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
        }
        Ok(Snapshot { step, made: SystemTime::UNIX_EPOCH + made, parameters })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(parameters: usize) -> Subject {
        Subject { environment: "CartPole-v1".into(), actor: "anything".into(), parameters }
    }

    fn read_all(bytes: &[u8]) -> Result<Vec<Message>, FrameError> {
        let mut reader = FrameReader::new(bytes);
        std::iter::from_fn(|| reader.next().transpose()).collect()
    }

    #[test]
    fn frames_are_read_as_they_were_written() {
        let made = SystemTime::UNIX_EPOCH + Duration::from_millis(1_795_000_000_123);
        let (run_dir, view) = (Some("run".into()), ViewConfig::default());
        let settings = WorkerSettings { parent: 7, run_dir, view, served: Some(6755) };
        let mut bytes = Vec::new();
        write_settings(&mut bytes, &settings).unwrap();
        let mut expected = vec![Message::Settings(Box::new(settings))];
        // Around one chunk and two of them.
        for count in [0, 1, 3, 16_367, 16_368, 16_369, 16_384, 32_736, 40_000] {
            let parameters = (0..count).map(|i| i as f32 - 0.5).collect();
            let snapshot = Snapshot { step: u64::MAX - 1, made, parameters };
            write_subject(&mut bytes, &subject(count)).unwrap();
            write_snapshot(&mut bytes, &snapshot).unwrap();
            expected.extend([Message::Subject(subject(count)), Message::Snapshot(snapshot)]);
        }
        assert_eq!(read_all(&bytes).unwrap(), expected);
    }

    #[test]
    fn lengths_that_a_kind_does_not_have_are_refused_before_memory_is_taken() {
        let check = |length: u32, kind: u8, expected: &str| {
            let mut bytes = Vec::new();
            write_subject(&mut bytes, &subject(2)).unwrap();
            bytes.extend(length.to_le_bytes());
            bytes.push(kind);
            assert_eq!(read_all(&bytes).unwrap_err().to_string(), expected);
        };
        check(25, 3, "a frame of kind 3 has 25 bytes; it must have 16 and 4 × 2");
        check(u32::MAX, 3, "a frame of kind 3 has 4294967295 bytes; it must have 16 and 4 × 2");
        check(1 << 21, 1, "a frame of kind 1 has 2097152 bytes; it must have at most 1048576");
        check(u32::MAX, 2, "a frame of kind 2 has 4294967295 bytes; it must have at most 1048576");
        check(0, 0, "a frame of the unknown kind 0");
        check(0, 4, "a frame of the unknown kind 4");
        check(3, 255, "a frame of the unknown kind 255");
    }

    #[test]
    fn a_subject_of_more_parameters_than_fit_takes_no_memory() {
        let mut bytes = Vec::new();
        write_subject(&mut bytes, &subject(usize::MAX)).unwrap();
        bytes.extend(u32::MAX.to_le_bytes());
        bytes.push(3);
        assert!(matches!(read_all(&bytes), Err(FrameError::Length { .. })));
        let mut bytes = Vec::new();
        let most = (u32::MAX as usize - SNAPSHOT_HEADER) / 4;
        write_subject(&mut bytes, &subject(most)).unwrap();
        bytes.extend(((SNAPSHOT_HEADER + 4 * most) as u32).to_le_bytes());
        bytes.extend([3, 1, 2, 3]);
        let error = read_all(&bytes).unwrap_err();
        assert!(matches!(&error, FrameError::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof));
    }

    #[test]
    fn random_and_cut_frames_are_errors_and_nothing_worse() {
        let mut random = rl755_run::Random::new(755);
        for _ in 0..20_000 {
            let mut bytes = Vec::new();
            write_subject(&mut bytes, &subject(3)).unwrap();
            let snapshot =
                Snapshot { step: 1, made: SystemTime::UNIX_EPOCH, parameters: vec![0.5; 3] };
            write_snapshot(&mut bytes, &snapshot).unwrap();
            for _ in 0..random.below(4) {
                let at = random.below(bytes.len());
                bytes[at] = random.bits() as u8;
            }
            bytes.truncate(random.below(bytes.len() + 1));
            bytes.extend((0..random.below(30)).map(|_| random.bits() as u8 % 6));
            for message in read_all(&bytes).into_iter().flatten() {
                if let Message::Snapshot(s) = message {
                    assert!(s.parameters.len() <= bytes.len() / 4);
                }
            }
        }
    }

    #[test]
    fn too_much_json_is_not_sent() {
        let big = Subject { environment: "x".repeat(LONGEST_JSON), ..subject(0) };
        let mut bytes = Vec::new();
        assert!(write_subject(&mut bytes, &big).is_err());
        assert!(bytes.is_empty());
    }
}
