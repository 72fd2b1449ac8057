//! Writing rollouts whose frames are in memory, as collecting does.

use std::{
    fs,
    path::{Path, PathBuf},
};

use rl755_data::{Dataset, FrameFormat, Rollout, RolloutRecorder};
use rl755_run::{AtomicFile, write_record};

use crate::{Job, Outcome};

/// Frames of each rollout that is written.
const STEPS: usize = 200;

/// Records steps, and writes the rollout as a file, synced.
pub(crate) struct Writing {
    rollout: Rollout,
    format: FrameFormat,
    directory: PathBuf,
    index: usize,
}

impl Writing {
    /// With the frames of the dataset at `directory`, and into a directory beside it.
    pub(crate) fn new(dataset: &Path, format: FrameFormat) -> Outcome<Self> {
        let rollout = Dataset::open(dataset)?.rollout(0)?;
        let directory = dataset.with_file_name(format!("written-{format}"));
        Ok(Self { rollout, format, directory, index: 0 })
    }
}

impl Job for Writing {
    fn work(&mut self) -> Outcome<u64> {
        let Rollout { environment, observations, actions, rewards, .. } = &self.rollout;
        let width = environment.observation_space.width();
        let mut recorder = RolloutRecorder::new(environment.clone(), 0, "none", self.format);
        let first = self.index * STEPS % self.rollout.steps();
        for step in (first..self.rollout.steps()).take(STEPS) {
            let action = actions.row(step).to_vec();
            recorder.push(observations.row(step, width), &action, rewards[step])?;
        }
        let steps = recorder.steps() as u64;
        let name = format!("rollout-0000-{:06}.tfrecord", self.index);
        let mut file = AtomicFile::create(&self.directory.join(name))?;
        write_record(&mut file, &recorder.finish(false, true))?;
        file.commit()?;
        self.index += 1;
        Ok(steps)
    }

    fn tidy(&mut self) -> Outcome<()> {
        Ok(fs::remove_dir_all(&self.directory)?)
    }
}
