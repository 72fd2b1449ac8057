//! Sessions: how several processes collect into one directory without losing or repeating
//! rollouts, and how a killed one is resumed.
//!
//! A session is one request for rollouts. It has a number, which is part of its files' names and
//! of their seeds, and a file that says what was asked for:
//!
//! ```text
//! OUT_DIR/sessions/0003.json                    what was asked for, and whether it is done
//! OUT_DIR/sessions/0003.lock                    locked by the process that works on it
//! OUT_DIR/rollout-0003-000041.tfrecord          its rollouts
//! ```

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rl755_env::EnvSpec;
use rl755_run::{AtomicFile, RunLock, write_atomically};
use serde::{Deserialize, Serialize};

use crate::{FrameFormat, dataset::manifest::made_by};

/// The version of the session file's format.
const SESSION_FORMAT: u32 = 1;

/// What a session collects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    pub(crate) environment: EnvSpec,
    pub(crate) policy: String,
    pub(crate) num_rollouts: u64,
    pub(crate) max_steps: u64,
    pub(crate) seed: u64,
    /// Requests that do not say it are of before there was a choice: of PNG.
    #[serde(default)]
    pub(crate) frame_format: FrameFormat,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionFile {
    format: u32,
    made_by: String,
    request: Request,
    complete: bool,
}

/// A session that this process works on.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) number: u32,
    directory: PathBuf,
    file: SessionFile,
    _lock: RunLock,
}

/// Why there is no session to work on.
#[derive(Debug)]
pub(crate) enum NoSession {
    /// Once is enough, and another process works on the session of that number.
    Busy(u32),
    /// The directory has rollouts of the environment of that id.
    OtherEnvironment(String),
    /// The file system said no, at that path.
    Io(PathBuf, io::Error),
}

impl Session {
    /// Takes over an unfinished session for the same request that nobody works on, or begins the
    /// next one; with `once` a finished one will do, and a next one is begun only where there is
    /// none for the same request.
    pub(crate) fn claim(out_dir: &Path, request: &Request, once: bool) -> Result<Self, NoSession> {
        let sessions = out_dir.join("sessions");
        let at = |path: &Path| {
            let path = path.to_owned();
            move |error| NoSession::Io(path, error)
        };
        fs::create_dir_all(&sessions).map_err(at(&sessions))?;
        // One process at a time looks for a session.
        let _turn = RunLock::take(&sessions.join("claim.lock")).map_err(at(&sessions))?;
        let mut numbers = session_numbers(&sessions).map_err(at(&sessions))?;
        numbers.sort_unstable();
        let mut same = Vec::new();
        for &number in &numbers {
            let path = session_path(&sessions, number);
            let Some(file) = read_session(&path).map_err(at(&path))? else { continue };
            if file.request.environment.id != request.environment.id {
                return Err(NoSession::OtherEnvironment(file.request.environment.id));
            }
            if file.request == *request && (once || !file.complete) {
                same.push((number, file));
            }
        }
        // The earliest unfinished session is gone on with first, unless one is finished already.
        same.sort_by_key(|(number, file)| (!file.complete, *number));
        for (number, file) in same {
            let path = session_path(&sessions, number);
            let lock = RunLock::try_take(&path.with_extension("lock")).map_err(at(&path))?;
            if let Some(lock) = lock {
                let name = format!("{number:04}.json");
                AtomicFile::clear_temporaries(&sessions, |n| n == name).map_err(at(&sessions))?;
                return Ok(Self { number, directory: sessions, file, _lock: lock });
            }
            if once {
                return Err(NoSession::Busy(number));
            }
        }
        // Rollouts whose session file is gone keep their names.
        let taken = rollout_sessions(out_dir).map_err(at(out_dir))?;
        let number = numbers.into_iter().chain(taken).max().map_or(0, |last| last + 1);
        let path = session_path(&sessions, number);
        let lock = RunLock::take(&path.with_extension("lock")).map_err(at(&path))?;
        let name = format!("{number:04}.json");
        AtomicFile::clear_temporaries(&sessions, |n| n == name).map_err(at(&sessions))?;
        let file = SessionFile {
            format: SESSION_FORMAT,
            made_by: made_by(),
            request: request.clone(),
            complete: false,
        };
        let session = Self { number, directory: sessions, file, _lock: lock };
        session.write().map_err(at(&path))?;
        Ok(session)
    }

    /// Marks the session as done: the next process with the same request begins another one.
    pub(crate) fn complete(&mut self) -> io::Result<()> {
        self.file.complete = true;
        self.write()
    }

    fn write(&self) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(&self.file)
            .expect("strings, numbers and lists can always be written as JSON");
        write_atomically(&session_path(&self.directory, self.number), &text)
    }
}

/// The sessions in `out_dir` that are not done, whether or not a process works on them.
pub(crate) fn open_sessions(out_dir: &Path) -> io::Result<Vec<u32>> {
    let sessions = out_dir.join("sessions");
    let mut open = Vec::new();
    for number in session_numbers(&sessions)? {
        if read_session(&session_path(&sessions, number))?.is_some_and(|file| !file.complete) {
            open.push(number);
        }
    }
    open.sort_unstable();
    Ok(open)
}

/// `rollout-0003-000041.tfrecord`.
pub(crate) fn rollout_name(session: u32, index: u64) -> String {
    format!("{}{index:06}.tfrecord", rollout_prefix(session))
}

/// What the names of a session's rollouts begin with.
pub(crate) fn rollout_prefix(session: u32) -> String {
    format!("rollout-{session:04}-")
}

/// The session and index in a rollout's file name.
pub(crate) fn parse_rollout_name(name: &str) -> Option<(u32, u64)> {
    let (session, index) =
        name.strip_prefix("rollout-")?.strip_suffix(".tfrecord")?.split_once('-')?;
    let (session, index) = (session.parse().ok()?, index.parse().ok()?);
    // Only the one spelling that is written, so that no rollout has two names.
    (rollout_name(session, index) == name).then_some((session, index))
}

fn session_path(sessions: &Path, number: u32) -> PathBuf {
    sessions.join(format!("{number:04}.json"))
}

fn session_numbers(sessions: &Path) -> io::Result<Vec<u32>> {
    let entries = match fs::read_dir(sessions) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|n| n.strip_suffix(".json")?.parse::<u32>().ok());
        // Only the one spelling that is written.
        numbers.extend(number.filter(|&number| session_path(sessions, number).ends_with(&name)));
    }
    Ok(numbers)
}

/// The sessions that rollouts in `out_dir` are named after.
fn rollout_sessions(out_dir: &Path) -> io::Result<Vec<u32>> {
    let mut sessions = Vec::new();
    for entry in fs::read_dir(out_dir)? {
        let name = entry?.file_name();
        sessions.extend(name.to_str().and_then(parse_rollout_name).map(|(session, _)| session));
    }
    Ok(sessions)
}

/// The session file at `path`, unless it is damaged, or `None` where it was written by another version.
fn read_session(path: &Path) -> io::Result<Option<SessionFile>> {
    let text = fs::read(path)?;
    // To leave out what was collected under it would collect it again.
    serde_json::from_slice::<serde::de::IgnoredAny>(&text)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("damaged: {error}")))?;
    Ok(parse_session(&text))
}

pub(crate) fn parse_session(text: &[u8]) -> Option<SessionFile> {
    let file: Option<SessionFile> = serde_json::from_slice(text).ok();
    file.filter(|file| file.format == SESSION_FORMAT)
}

#[cfg(test)]
mod tests {
    use rl755_env::Space;

    use super::*;

    fn request(seed: u64) -> Request {
        Request {
            environment: EnvSpec {
                id: "Test-v0".to_owned(),
                observation_space: Space::Discrete { n: 2 },
                action_space: Space::Discrete { n: 2 },
                max_episode_steps: None,
                rules: String::new(),
            },
            policy: "uniform".to_owned(),
            num_rollouts: 1,
            max_steps: 1,
            seed,
            frame_format: FrameFormat::Png,
        }
    }

    #[test]
    fn sessions_are_resumed_only_when_free_unfinished_and_the_same() {
        let directory = tempfile::tempdir().unwrap();
        let claim = |seed| Session::claim(directory.path(), &request(seed), false).unwrap();
        let first = claim(1);
        assert_eq!(first.number, 0);
        let second = claim(1);
        assert_eq!(second.number, 1, "the first is being worked on");
        drop(first);
        assert_eq!(claim(2).number, 2, "another request");
        let mut again = claim(1);
        assert_eq!(again.number, 0);
        again.complete().unwrap();
        drop((again, second));
        assert_eq!(claim(1).number, 1);
        fs::write(directory.path().join(rollout_name(7, 0)), "").unwrap();
        assert_eq!(claim(3).number, 8, "a rollout of session 7 is there");
        assert_eq!(open_sessions(directory.path()).unwrap(), [1, 2, 8]);
    }

    #[test]
    fn one_session_is_enough_where_that_is_asked_for() {
        let directory = tempfile::tempdir().unwrap();
        let claim = |seed| Session::claim(directory.path(), &request(seed), true);
        let mut first = claim(1).unwrap();
        assert!(matches!(claim(1), Err(NoSession::Busy(0))));
        assert_eq!(claim(2).unwrap().number, 1, "another request");
        first.complete().unwrap();
        drop(first);
        // An unfinished one of the same request beside it.
        drop(Session::claim(directory.path(), &request(1), false).unwrap());
        assert_eq!(claim(1).unwrap().number, 0);
    }

    #[test]
    fn a_session_of_before_there_was_a_choice_of_formats_is_gone_on_with() {
        let directory = tempfile::tempdir().unwrap();
        let mut first = Session::claim(directory.path(), &request(1), true).unwrap();
        first.complete().unwrap();
        drop(first);
        let path = session_path(&directory.path().join("sessions"), 0);
        let mut file: serde_json::Value =
            serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        file["request"].as_object_mut().unwrap().remove("frame_format").unwrap();
        fs::write(&path, file.to_string()).unwrap();
        assert_eq!(Session::claim(directory.path(), &request(1), true).unwrap().number, 0);
        let tensors = Request { frame_format: FrameFormat::Tensor, ..request(1) };
        assert_eq!(Session::claim(directory.path(), &tensors, true).unwrap().number, 1);
    }

    #[test]
    fn rollout_names_are_read_back() {
        assert_eq!(rollout_name(3, 41), "rollout-0003-000041.tfrecord");
        for (session, index) in [(0, 0), (3, 41), (10_000, 1_000_000)] {
            assert_eq!(parse_rollout_name(&rollout_name(session, index)), Some((session, index)));
        }
        for other in ["rollout-3-41.tfrecord", "rollout-0003-000041", "cars.tfrecord"] {
            assert_eq!(parse_rollout_name(other), None, "{other}");
        }
    }
}
