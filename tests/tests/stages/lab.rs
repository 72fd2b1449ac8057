//! A directory in which the tests run the stages on a small scale.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Output, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use rl755_run::{Digest, digest_file};

/// The recipe, small enough for a test. Paths are relative to the lab.
pub(crate) const STAGES: [(&str, &str); 9] = [
    ("collect", "--num-rollouts 8 --max-steps 60 --out-dir rollouts --seed 3"),
    (
        "pack",
        "--rollout-dir rollouts --out-dir dataset --rollouts-per-tfrecord-file 2 \
         --validation-fraction 0.25",
    ),
    ("verify", "--pattern dataset"),
    (
        "train-encoder",
        "--model vae-64 --rollouts-dataset dataset --model-dir encoder --train-steps 9 \
         --save-every-n-steps 3 --log-every-n-steps 2 --batch-size 4 --representation-size 8 \
         --obs-sampled-per-rollout 5 --shuffle-buffer 1MB --resume",
    ),
    ("encode", "--model encoder --rollouts-dataset dataset --out-dir encoded --num-sub-shards 3"),
    (
        "train-sequence",
        "--model mdn-rnn --rollouts-dataset encoded --encoder encoder --model-dir sequence \
         --train-steps 30 --save-every-n-steps 10 --batch-size 4 --sequence-length 16 --resume",
    ),
    (
        "train-controller",
        "--encoder encoder --sequence sequence --environment CarRacing-v3 --model-dir controller \
         --generations 4 --population 4 --trials 2 --max-steps 12 --evaluate-every 2 \
         --evaluation-episodes 2 --save-every-n-steps 1 --resume",
    ),
    (
        "train-policy",
        "--environment CartPole-v1 --algorithm ppo --model-dir policy --iterations 30 \
         --batch-size 1000 --save-every-n-steps 4 --resume",
    ),
    (
        "evaluate",
        "--controller controller --episodes 2 --max-steps 12 --out-dir evaluation \
         --video evaluation/episode.webm",
    ),
];

/// Flags of a stage of the recipe.
pub(crate) fn flags(stage: &str) -> &'static str {
    STAGES.iter().find(|(name, _)| *name == stage).expect("a stage of the recipe").1
}

pub(crate) struct Lab {
    directory: tempfile::TempDir,
}

impl Lab {
    pub(crate) fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn command(&self, stage: &str, flags: &str) -> Command {
        self.program(env!("CARGO_BIN_EXE_stages"), &[], stage, flags)
    }

    /// `stage` as the last arguments of a program that runs in the lab.
    fn program(&self, program: &str, before: &[&str], stage: &str, flags: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.directory.path()).env_remove("RL755_DATA");
        command.args(before).arg(stage).args(flags.split_whitespace());
        command
    }

    /// Runs a stage to its end.
    pub(crate) fn run(&self, stage: &str, flags: &str) -> Output {
        self.command(stage, flags).output().unwrap()
    }

    /// Runs a stage that can write no file larger than so many blocks.
    pub(crate) fn run_limited(&self, blocks: u32, stage: &str, flags: &str) -> Output {
        // With the signal ignored, as children have it then, too, writing gives an error.
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let shell = ["-c", &script, "sh", env!("CARGO_BIN_EXE_stages")];
        self.program("/bin/sh", &shell, stage, flags).output().unwrap()
    }

    /// Every file in the lab.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut directories = vec![self.directory.path().to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { directories.push(path) } else { files.push(path) }
            }
        }
        files
    }

    /// Runs a stage, which must succeed.
    pub(crate) fn succeed(&self, stage: &str, flags: &str) -> Output {
        let output = self.run(stage, flags);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stage} {flags}: {errors}");
        output
    }

    pub(crate) fn start(&self, stage: &str, flags: &str) -> Child {
        let mut command = self.command(stage, flags);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Starts a stage and kills it with SIGKILL after `delay`, unless it ends before.
    pub(crate) fn kill_after(&self, delay: Duration, stage: &str, flags: &str) -> ExitStatus {
        let mut child = self.start(stage, flags);
        // Nobody sends: this waits for the moment of the kill.
        let (_sender, never) = mpsc::channel::<()>();
        let _ = never.recv_timeout(delay);
        let _ = child.kill();
        child.wait().unwrap()
    }

    /// The digests of all files below `name` that a stage promises to make the same each time:
    /// not those with times in them (manifests of runs, TensorBoard logs), with the optimiser's state
    /// by random ids, or with digests of these, nor those of `parts`, which tell in which order shards
    /// were written, nor hidden ones.
    pub(crate) fn contents(&self, name: &str) -> BTreeMap<PathBuf, Digest> {
        let mut found = BTreeMap::new();
        collect_contents(&self.path(name), Path::new(name), &mut found);
        found
    }
}

fn collect_contents(directory: &Path, name: &Path, found: &mut BTreeMap<PathBuf, Digest>) {
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let (path, file) = (entry.path(), entry.file_name().into_string().unwrap());
        let varies =
            ["manifest.json", "parameter_ids.json", "optimizer.burnpack", "digests.json", "parts"];
        if file.starts_with("events.") || file.starts_with('.') || varies.contains(&&*file) {
            continue;
        }
        if path.is_dir() {
            collect_contents(&path, &name.join(&file), found);
        } else {
            found.insert(name.join(&file), digest_file(&path).unwrap());
        }
    }
}

/// How long `work` takes.
pub(crate) fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}
