//! Whether a stage is skipped, gone on with, or done again.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    record::{Record, Work, rollout_files},
    stage::Stage,
};

/// What is in the directory that a stage writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// Nothing.
    Absent,
    /// Something, but not all of it.
    Partial,
    /// Its manifest says that it is complete.
    Complete,
    /// The stage writes nothing.
    None,
}

/// What to do about a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It is done and unchanged.
    Skip,
    /// It has not been done.
    Run,
    /// It was interrupted: go on.
    Resume,
    /// What is there was made by other work; why.
    Redo(String),
}

/// Decides about a stage from its record, the work it has now, and what it has written. `forced`
/// says why it must be done again in any case.
pub(crate) fn decide(
    record: Option<&Record>,
    work: &Work,
    output: Output,
    forced: Option<&str>,
) -> Decision {
    let redo = |reason: String| match output {
        Output::Absent => Decision::Run,
        _ => Decision::Redo(reason),
    };
    if let Some(reason) = forced {
        return if record.is_none() && output == Output::None {
            Decision::Run
        } else {
            redo(reason.to_owned())
        };
    }
    let Some(record) = record else {
        return match output {
            Output::Absent | Output::None => Decision::Run,
            _ => Decision::Redo("nothing says what made it".to_owned()),
        };
    };
    if let Some(difference) = work.difference(&record.work) {
        return redo(difference);
    }
    match (record.finished, output) {
        // It may have been killed between finishing and saying so.
        (_, Output::Complete) | (true, Output::None) => Decision::Skip,
        (_, Output::Absent) | (false, Output::None) => Decision::Run,
        (_, Output::Partial) => Decision::Resume,
    }
}

/// What `stage` has written below `out`; `num_rollouts` is what collect was asked for.
pub(crate) fn output_of(stage: Stage, out: &Path, num_rollouts: usize) -> io::Result<Output> {
    let Some(directory) = stage.output(out) else { return Ok(Output::None) };
    let empty = match fs::read_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        entries => entries?.next().is_none(),
    };
    if empty {
        return Ok(Output::Absent);
    }
    let complete = match stage {
        Stage::Collect => {
            rollout_files(&directory)?.len() >= num_rollouts
                && sessions_are_complete(&directory.join("sessions"))
        }
        Stage::Pack | Stage::Encode => directory.join("dataset.json").is_file(),
        _ => manifest_says_complete(&directory.join("manifest.json")),
    };
    Ok(if complete { Output::Complete } else { Output::Partial })
}

fn manifest_says_complete(path: &Path) -> bool {
    let manifest = fs::read(path)
        .ok()
        .and_then(|text| serde_json::from_slice::<rl755_run::Manifest>(&text).ok());
    manifest.is_some_and(|manifest| manifest.status == rl755_run::Status::Complete)
}

/// Whether every session of collect, `sessions/0003.json`, says `"complete": true`.
fn sessions_are_complete(sessions: &Path) -> bool {
    let Ok(entries) = fs::read_dir(sessions) else { return false };
    entries.flatten().map(|entry| entry.path()).filter(|path| is_session(path)).all(|path| {
        let session = fs::read(path)
            .ok()
            .and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
        session.is_some_and(|session| session["complete"] == true)
    })
}

fn is_session(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "json")
}

/// Renames `directory` to the first free one of `DIRECTORY.old-1`, `DIRECTORY.old-2`, …
pub(crate) fn move_aside(directory: &Path) -> io::Result<PathBuf> {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    let mut number = 1;
    loop {
        let aside = directory.with_file_name(format!("{name}.old-{number}"));
        if !aside.exists() {
            fs::rename(directory, &aside)?;
            return Ok(aside);
        }
        number += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn work(command: &str) -> Work {
        Work {
            command: vec![command.to_owned()],
            inputs: BTreeMap::new(),
            version: "rl755 1".to_owned(),
        }
    }

    fn record(command: &str, finished: bool) -> Record {
        Record { work: work(command), finished, seconds: 0.0, peak_memory_bytes: None }
    }

    #[test]
    fn done_and_unchanged_is_skipped() {
        let decide =
            |finished, output| decide(Some(&record("a", finished)), &work("a"), output, None);
        assert_eq!(decide(true, Output::Complete), Decision::Skip);
        assert_eq!(decide(true, Output::None), Decision::Skip);
        // Killed after the stage was done and before its record said so.
        assert_eq!(decide(false, Output::Complete), Decision::Skip);
    }

    #[test]
    fn interrupted_work_is_gone_on_with() {
        for finished in [false, true] {
            let decision = decide(Some(&record("a", finished)), &work("a"), Output::Partial, None);
            assert_eq!(decision, Decision::Resume);
        }
        let verify = decide(Some(&record("a", false)), &work("a"), Output::None, None);
        assert_eq!(verify, Decision::Run);
    }

    #[test]
    fn what_is_gone_is_done_again() {
        for finished in [false, true] {
            let decision = decide(Some(&record("a", finished)), &work("a"), Output::Absent, None);
            assert_eq!(decision, Decision::Run);
        }
    }

    #[test]
    fn changed_work_is_done_again() {
        let decide = |output| decide(Some(&record("a", true)), &work("b"), output, None);
        for output in [Output::Complete, Output::Partial, Output::None] {
            assert!(matches!(decide(output), Decision::Redo(_)), "{output:?}");
        }
        assert_eq!(decide(Output::Absent), Decision::Run);
    }

    #[test]
    fn output_of_unknown_origin_is_not_trusted() {
        assert!(matches!(decide(None, &work("a"), Output::Complete, None), Decision::Redo(_)));
        assert_eq!(decide(None, &work("a"), Output::Absent, None), Decision::Run);
        assert_eq!(decide(None, &work("a"), Output::None, None), Decision::Run);
    }

    #[test]
    fn a_forced_stage_is_done_again_though_unchanged() {
        let decide = |record, output| decide(record, &work("a"), output, Some("--from"));
        let done = record("a", true);
        assert_eq!(decide(Some(&done), Output::Complete), Decision::Redo("--from".into()));
        assert_eq!(decide(Some(&done), Output::None), Decision::Redo("--from".into()));
        assert_eq!(decide(None, Output::None), Decision::Run);
        assert_eq!(decide(Some(&done), Output::Absent), Decision::Run);
    }

    #[test]
    fn output_is_complete_when_its_manifest_says_so() {
        let out = tempfile::tempdir().unwrap();
        let out = out.path();
        let state = |stage| output_of(stage, out, 2).unwrap();
        assert_eq!(state(Stage::Verify), Output::None);
        for stage in [Stage::Collect, Stage::Pack, Stage::TrainEncoder] {
            assert_eq!(state(stage), Output::Absent);
            fs::create_dir(stage.output(out).unwrap()).unwrap();
            assert_eq!(state(stage), Output::Absent);
        }
        for name in ["rollout-1.tfrecord", "rollout-2.tfrecord"] {
            fs::write(out.join("rollouts/.rollout-3.tfrecord.tmp"), "").unwrap();
            assert_eq!(state(Stage::Collect), Output::Partial);
            fs::write(out.join("rollouts").join(name), "").unwrap();
        }
        let session = |text: &str| {
            fs::create_dir_all(out.join("rollouts/sessions")).unwrap();
            fs::write(out.join("rollouts/sessions/0000.json"), text).unwrap();
        };
        assert_eq!(state(Stage::Collect), Output::Partial);
        session("{\"complete\": false}");
        assert_eq!(state(Stage::Collect), Output::Partial);
        session("{\"complete\": true}");
        assert_eq!(state(Stage::Collect), Output::Complete);
        fs::write(out.join("dataset/rollouts.tfrecord-00000-of-00001"), "").unwrap();
        assert_eq!(state(Stage::Pack), Output::Partial);
        fs::write(out.join("dataset/dataset.json"), "{}").unwrap();
        assert_eq!(state(Stage::Pack), Output::Complete);
        let mut manifest =
            rl755_run::Manifest::begin("train-encoder", "vae", 0, serde_json::Value::Null, vec![]);
        for (status, expected) in [
            (rl755_run::Status::Running, Output::Partial),
            (rl755_run::Status::Complete, Output::Complete),
        ] {
            manifest.status = status;
            let text = serde_json::to_vec(&manifest).unwrap();
            fs::write(out.join("encoder/manifest.json"), text).unwrap();
            assert_eq!(state(Stage::TrainEncoder), expected);
        }
    }

    #[test]
    fn old_output_is_kept_under_another_name() {
        let out = tempfile::tempdir().unwrap();
        let directory = out.path().join("encoder");
        for number in [1, 2] {
            fs::create_dir(&directory).unwrap();
            let aside = move_aside(&directory).unwrap();
            assert_eq!(aside, out.path().join(format!("encoder.old-{number}")));
            assert!(aside.is_dir() && !directory.exists());
        }
    }
}
