//! The stages' command lines, from the preset and from where things are.

use std::path::Path;

use anyhow::{Context, bail};
use toml::Value;

use super::{preset::Resolved, stage::Stage};

/// What the datasets' shards are called.
const RAW_NAME: &str = "rollouts";
const ENCODED_NAME: &str = "encoded";

/// A stage's command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandLine {
    pub(crate) stage: Stage,
    flags: Vec<(String, Argument)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Argument {
    Switch,
    Text(String),
    /// A path below the pipeline's directory.
    Below(String),
}

impl Argument {
    fn text(&self, out: &Path) -> Option<String> {
        match self {
            Self::Switch => None,
            Self::Text(text) => Some(text.clone()),
            Self::Below(path) => Some(out.join(path).to_string_lossy().into_owned()),
        }
    }
}

impl CommandLine {
    /// What the stage is asked to do: the part of its command line that decides about the results.
    /// Seeds belong to it; devices, threads and where the pipeline's directory is do not.
    pub(crate) fn of(stage: Stage, preset: &Resolved) -> anyhow::Result<Self> {
        let mut line = Self { stage, flags: Vec::new() };
        let text = |text: &str| Argument::Text(text.to_owned());
        let below =
            |stage: Stage| Argument::Below(stage.directory().unwrap_or_default().to_owned());
        let environment = ("environment", text(&preset.environment));
        let seed = ("seed", text(&preset.seed.to_string()));
        // Flags that the pipeline sets, and whether a preset may leave them out.
        let mut optional = Vec::new();
        let fixed = match stage {
            Stage::Collect => vec![environment, seed, ("out-dir", below(stage))],
            Stage::Pack => vec![
                ("rollout-dir", below(Stage::Collect)),
                ("out-dir", below(stage)),
                ("out-name", text(RAW_NAME)),
            ],
            Stage::Verify => {
                let pattern = format!("dataset/{RAW_NAME}.tfrecord*");
                vec![("pattern", Argument::Below(pattern))]
            }
            Stage::TrainEncoder => vec![
                environment,
                seed,
                ("rollouts-dataset", below(Stage::Pack)),
                ("model-dir", below(stage)),
            ],
            Stage::Encode => vec![
                environment,
                ("model", below(Stage::TrainEncoder)),
                ("rollouts-dataset", below(Stage::Pack)),
                ("out-dir", below(stage)),
                ("out-name", text(ENCODED_NAME)),
            ],
            Stage::TrainSequence => {
                optional.push(("encoder", below(Stage::TrainEncoder)));
                vec![
                    environment,
                    seed,
                    ("rollouts-dataset", below(Stage::Encode)),
                    ("model-dir", below(stage)),
                ]
            }
            Stage::TrainController => {
                optional.push(("encoder", below(Stage::TrainEncoder)));
                optional.push(("sequence", below(Stage::TrainSequence)));
                vec![environment, seed, ("model-dir", below(stage))]
            }
            Stage::Evaluate => {
                optional.push(("video", Argument::Below("evaluation/episode.webm".into())));
                vec![seed, ("controller", below(Stage::TrainController)), ("out-dir", below(stage))]
            }
            Stage::Baseline => vec![environment, seed, ("out-dir", below(stage))],
        };
        for (name, argument) in fixed {
            line.flags.push((name.to_owned(), argument));
        }
        let own = preset.flags(stage);
        for (name, argument) in optional {
            match own.get(name) {
                None => line.flags.push((name.to_owned(), argument)),
                Some(Value::Boolean(false)) => {}
                Some(_) => bail!(
                    "the preset's [{}] may leave out `{name}` (= false) but not set it",
                    stage.name()
                ),
            }
        }
        for (name, value) in &own {
            line.add(name, value)
                .with_context(|| format!("`{name}` in the preset's [{}]", stage.name()))?;
        }
        Ok(line)
    }

    fn add(&mut self, name: &str, value: &Value) -> anyhow::Result<()> {
        const OURS: [&str; 9] = [
            "device",
            "gpu-index",
            "outer-shard-index",
            "parallelism",
            "pickle-dir",
            "quiet",
            "resume",
            "seed",
            "threads",
        ];
        if OURS.contains(&name) || self.flags.iter().any(|(known, _)| known == name) {
            bail!("the pipeline sets it");
        }
        let argument = match value {
            Value::Boolean(false) => return Ok(()),
            Value::Boolean(true) => Argument::Switch,
            Value::String(text) => Argument::Text(text.clone()),
            Value::Integer(number) => Argument::Text(number.to_string()),
            Value::Float(number) => Argument::Text(number.to_string()),
            Value::Table(table) => Argument::Text(serde_json::to_string(table)?),
            Value::Array(_) | Value::Datetime(_) => bail!("flags take no lists and no dates"),
        };
        self.flags.push((name.to_owned(), argument));
        Ok(())
    }

    /// The flags with their values as the stage's record keeps them: the same wherever the
    /// pipeline's directory is.
    pub(crate) fn record(&self) -> Vec<String> {
        let out = Path::new("OUT");
        self.flags
            .iter()
            .map(|(name, argument)| match argument.text(out) {
                Some(value) => format!("--{name} {value}"),
                None => format!("--{name}"),
            })
            .collect()
    }

    /// The flags for the pipeline's directory `out`.
    pub(crate) fn arguments(&self, out: &Path) -> Vec<String> {
        let mut arguments = Vec::new();
        for (name, argument) in &self.flags {
            match argument.text(out) {
                None => arguments.push(format!("--{name}")),
                // Not to be taken for another flag.
                Some(value) if value.starts_with('-') => {
                    arguments.push(format!("--{name}={value}"));
                }
                Some(value) => arguments.extend([format!("--{name}"), value]),
            }
        }
        arguments
    }

    /// The whole number that a flag has.
    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        match self.flags.iter().find(|(known, _)| known == name)? {
            (_, Argument::Text(text)) => text.parse().ok(),
            _ => None,
        }
    }

    /// Takes the whole number of a flag out of the command line.
    pub(crate) fn take_number(&mut self, name: &str, default: usize) -> anyhow::Result<usize> {
        let Some(at) = self.flags.iter().position(|(known, _)| known == name) else {
            return Ok(default);
        };
        match self.flags.remove(at).1 {
            Argument::Text(text) => text.parse().ok().filter(|number| *number > 0),
            _ => None,
        }
        .with_context(|| {
            format!("`{name}` in the preset's [{}] must be a positive number", self.stage.name())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::preset;

    fn resolved(text: &str) -> Resolved {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("test.toml");
        std::fs::write(&path, text).unwrap();
        preset::load(path.to_str().unwrap()).unwrap().1.resolve("CarRacing-v3", 3)
    }

    fn check(stage: Stage, preset: &str, expected: &str) {
        let line = CommandLine::of(stage, &resolved(preset)).unwrap();
        assert_eq!(line.arguments(Path::new("runs/a")).join(" "), expected);
    }

    #[test]
    fn flags_come_from_the_preset_and_paths_from_the_layout() {
        check(
            Stage::Collect,
            "[collect]\nnum-rollouts = 5\nsigma = -0.5\n",
            "--environment CarRacing-v3 --seed 3 --out-dir runs/a/rollouts --num-rollouts 5 \
             --sigma=-0.5",
        );
        check(
            Stage::TrainSequence,
            "[train-sequence]\nmodel = \"mdn-rnn\"\ndifference-targets = true\nsample = false\n\
             model-config = { units = 8 }\n",
            "--environment CarRacing-v3 --seed 3 --rollouts-dataset runs/a/encoded --model-dir \
             runs/a/sequence --encoder runs/a/encoder --difference-targets --model mdn-rnn \
             --model-config {\"units\":8}",
        );
        check(Stage::Verify, "", "--pattern runs/a/dataset/rollouts.tfrecord*");
    }

    #[test]
    fn optional_flags_can_be_left_out() {
        check(
            Stage::Evaluate,
            "[evaluate]\nvideo = false\nepisodes = 2\n",
            "--seed 3 --controller runs/a/controller --out-dir runs/a/evaluation --episodes 2",
        );
    }

    #[test]
    fn the_baseline_plays_the_same_episodes() {
        check(
            Stage::Baseline,
            "[evaluate]\nepisodes = 2\n[baseline]\npolicy = \"uniform\"\n",
            "--environment CarRacing-v3 --seed 3 --out-dir runs/a/baseline --episodes 2 --policy \
             uniform",
        );
    }

    #[test]
    fn flags_that_the_pipeline_sets_are_refused() {
        for flags in ["out-dir = \"x\"", "seed = 1", "resume = true"] {
            let preset = resolved(&format!("[collect]\n{flags}\n"));
            let error = CommandLine::of(Stage::Collect, &preset).unwrap_err();
            assert!(format!("{error:#}").contains("the pipeline sets it"), "{error:#}");
        }
    }

    #[test]
    fn numbers_are_taken_out() {
        let preset = resolved("[encode]\nnum-sub-shards = 4\n");
        let mut line = CommandLine::of(Stage::Encode, &preset).unwrap();
        assert_eq!(line.take_number("num-sub-shards", 1).unwrap(), 4);
        assert_eq!(line.take_number("num-sub-shards", 1).unwrap(), 1);
        let preset = resolved("[encode]\nnum-sub-shards = 0\n");
        let mut line = CommandLine::of(Stage::Encode, &preset).unwrap();
        assert!(line.take_number("num-sub-shards", 1).is_err());
    }
}
