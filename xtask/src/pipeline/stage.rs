//! The stages of the recipe: what they are called, what they read, where they write.

use std::path::{Path, PathBuf};

use rl755_run::UnknownName;

/// A stage, in the order they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Collect,
    Pack,
    Verify,
    TrainEncoder,
    Encode,
    TrainSequence,
    TrainController,
    /// The trained controller's scores.
    Evaluate,
    /// A random policy's scores on the same episodes.
    Baseline,
}

use Stage::{
    Baseline, Collect, Encode, Evaluate, Pack, TrainController, TrainEncoder, TrainSequence, Verify,
};

/// What a stage makes of its own half-finished output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GoesOn {
    /// Goes on when it is given `--resume`.
    WithResumeFlag,
    /// Goes on by itself when the same command is run again.
    ByItself,
}

impl Stage {
    pub(crate) const ALL: [Self; 9] = [
        Collect,
        Pack,
        Verify,
        TrainEncoder,
        Encode,
        TrainSequence,
        TrainController,
        Evaluate,
        Baseline,
    ];

    /// Its name on the command line, in presets and in the summary.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Collect => "collect",
            Pack => "pack",
            Verify => "verify",
            TrainEncoder => "train-encoder",
            Encode => "encode",
            TrainSequence => "train-sequence",
            TrainController => "train-controller",
            Evaluate => "evaluate",
            Baseline => "baseline",
        }
    }

    /// The package and binary that does it.
    pub(crate) fn program(self) -> &'static str {
        match self {
            Collect => "rl755-collect",
            Pack => "rl755-pack",
            Verify => "rl755-verify",
            TrainEncoder => "rl755-train-encoder",
            Encode => "rl755-encode",
            TrainSequence => "rl755-train-sequence",
            TrainController => "rl755-train-controller",
            Evaluate | Baseline => "rl755-evaluate",
        }
    }

    /// The directory it writes, below the pipeline's; `None` when it writes nothing.
    pub(crate) fn directory(self) -> Option<&'static str> {
        Some(match self {
            Collect => "rollouts",
            Pack => "dataset",
            Verify => return None,
            TrainEncoder => "encoder",
            Encode => "encoded",
            TrainSequence => "sequence",
            TrainController => "controller",
            Evaluate => "evaluation",
            Baseline => "baseline",
        })
    }

    /// The directory it writes in the pipeline's directory `out`.
    pub(crate) fn output(self, out: &Path) -> Option<PathBuf> {
        self.directory().map(|directory| out.join(directory))
    }

    /// The stages whose output it reads.
    pub(crate) fn reads(self) -> &'static [Self] {
        match self {
            Collect | Baseline => &[],
            Pack => &[Collect],
            Verify | TrainEncoder => &[Pack],
            Encode => &[Pack, TrainEncoder],
            TrainSequence => &[TrainEncoder, Encode],
            TrainController => &[TrainEncoder, TrainSequence],
            Evaluate => &[TrainEncoder, TrainSequence, TrainController],
        }
    }

    /// How it is made to go on where it was interrupted.
    pub(crate) fn goes_on(self) -> GoesOn {
        match self {
            TrainEncoder | TrainSequence | TrainController => GoesOn::WithResumeFlag,
            Collect | Pack | Verify | Encode | Evaluate | Baseline => GoesOn::ByItself,
        }
    }
}

impl std::str::FromStr for Stage {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Self::ALL.into_iter().find(|stage| stage.name() == name).ok_or_else(|| {
            let known = Self::ALL.iter().map(|stage| stage.name().to_owned()).collect();
            UnknownName::new("stage", name, known)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_read_only_what_earlier_ones_wrote() {
        for stage in Stage::ALL {
            for &read in stage.reads() {
                assert!(read < stage && read.directory().is_some(), "{stage:?} reads {read:?}");
            }
        }
    }

    #[test]
    fn unknown_stages_are_answered_with_the_nearest() {
        assert_eq!("encode".parse::<Stage>().unwrap(), Encode);
        let error = "train-encode".parse::<Stage>().unwrap_err().to_string();
        assert!(error.contains("did you mean `train-encoder`?"), "{error}");
    }
}
