//! Presets: the stages' flags by name, with what differs for some environments.
//!
//! ```toml
//! description = "…"
//! [collect]
//! num-rollouts = 100
//! [env."CartPole-v1".collect]
//! num-rollouts = 20
//! ```
//!
//! A key is a flag of the stage. `true` gives a flag without a value, `false` leaves a flag out,
//! a table becomes JSON.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, bail};
use rl755_run::UnknownName;
use toml::{Table, Value};

use super::stage::Stage;

/// The presets that come with the project, by name.
const BUILT_IN: [(&str, &str); 2] = [
    ("quick", include_str!("../../presets/quick.toml")),
    ("paper", include_str!("../../presets/paper.toml")),
];

/// A preset as it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Preset {
    /// What it is for.
    description: String,
    /// The environment it is for, unless the command line names one.
    pub(crate) environment: Option<String>,
    /// The seed, unless the command line names one.
    pub(crate) seed: Option<u64>,
    /// Flags by stage.
    stages: BTreeMap<Stage, Table>,
    /// What differs, by environment.
    environments: BTreeMap<String, BTreeMap<Stage, Table>>,
}

/// A preset for one environment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Resolved {
    pub(crate) description: String,
    pub(crate) environment: String,
    pub(crate) seed: u64,
    stages: BTreeMap<Stage, Table>,
}

/// Reads the preset `name`: a built-in one, or a file when it ends in `.toml`. Gives it with the
/// name that its results go by.
pub(crate) fn load(name: &str) -> anyhow::Result<(String, Preset)> {
    if name.ends_with(".toml") {
        let path = Path::new(name);
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read the preset {name}"))?;
        let preset = parse(&text).with_context(|| format!("the preset {name} is not valid"))?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        return Ok((stem, preset));
    }
    match BUILT_IN.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => Ok((name.to_owned(), parse(text)?)),
        None => {
            let known = BUILT_IN.iter().map(|(known, _)| (*known).to_owned()).collect();
            Err(UnknownName::new("preset", name, known))
                .context("give a preset's name or the path of a .toml file")
        }
    }
}

/// One line for each built-in preset.
pub(crate) fn list() -> String {
    let line = |(name, text): &(&str, &str)| {
        let description = parse(text).map(|preset| preset.description).unwrap_or_default();
        format!("  {name:<8} {description}")
    };
    BUILT_IN.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn parse(text: &str) -> anyhow::Result<Preset> {
    let mut preset = Preset::default();
    for (key, value) in text.parse::<Table>()? {
        match (key.as_str(), value) {
            ("description", Value::String(text)) => preset.description = text,
            ("environment", Value::String(id)) => preset.environment = Some(id),
            ("seed", Value::Integer(seed)) => {
                preset.seed = Some(seed.try_into().context("the seed is negative")?);
            }
            ("env", Value::Table(environments)) => {
                for (id, value) in environments {
                    let Value::Table(stages) = value else {
                        bail!("env.\"{id}\" must have a table for each stage");
                    };
                    preset.environments.insert(id, stage_tables(stages)?);
                }
            }
            (_, Value::Table(flags)) => {
                preset.stages.insert(key.parse()?, flags);
            }
            _ => bail!("`{key}` is no part of a preset"),
        }
    }
    Ok(preset)
}

fn stage_tables(tables: Table) -> anyhow::Result<BTreeMap<Stage, Table>> {
    let mut stages = BTreeMap::new();
    for (name, value) in tables {
        let stage = name.parse()?;
        let Value::Table(flags) = value else { bail!("{name} must be a table of flags") };
        stages.insert(stage, flags);
    }
    Ok(stages)
}

impl Preset {
    /// The preset for `environment`.
    pub(crate) fn resolve(&self, environment: &str, seed: u64) -> Resolved {
        let mut stages = self.stages.clone();
        // Options may follow the id: `CarRacing-v3:continuous=false`.
        let id = environment.split(':').next().unwrap_or(environment);
        for (&stage, flags) in self.environments.get(id).into_iter().flatten() {
            let table = stages.entry(stage).or_default();
            table.extend(flags.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        Resolved {
            description: self.description.clone(),
            environment: environment.to_owned(),
            seed,
            stages,
        }
    }
}

impl Resolved {
    /// The flags of `stage`. The baseline plays the episodes of the evaluation, so it has the
    /// evaluation's flags where it has none of its own.
    pub(crate) fn flags(&self, stage: Stage) -> Table {
        let own = |stage| self.stages.get(&stage).cloned().unwrap_or_default();
        if stage == Stage::Baseline {
            let mut flags = own(Stage::Evaluate);
            flags.insert("video".into(), Value::Boolean(false));
            flags.extend(own(stage));
            return flags;
        }
        own(stage)
    }

    /// As TOML, which is a preset again.
    pub(crate) fn to_toml(&self) -> anyhow::Result<String> {
        let mut table = Table::new();
        table.insert("description".into(), self.description.clone().into());
        table.insert("environment".into(), self.environment.clone().into());
        let seed = i64::try_from(self.seed).context("the seed does not fit into TOML")?;
        table.insert("seed".into(), seed.into());
        for (stage, flags) in &self.stages {
            table.insert(stage.name().into(), flags.clone().into());
        }
        Ok(toml::to_string_pretty(&table)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        description = "a test"
        [collect]
        num-rollouts = 100
        policy = "smooth"
        [evaluate]
        episodes = 20
        [baseline]
        policy = "uniform"
        [env."CartPole-v1".collect]
        num-rollouts = 5
        [env."CartPole-v1".train-encoder]
        model = "identity"
    "#;

    #[test]
    fn an_environment_overrides_single_flags() {
        let preset = parse(TEXT).unwrap();
        let car = preset.resolve("CarRacing-v3", 1);
        assert_eq!(car.flags(Stage::Collect)["num-rollouts"], 100.into());
        assert!(car.flags(Stage::TrainEncoder).is_empty());
        let pole = preset.resolve("CartPole-v1", 1);
        let collect = pole.flags(Stage::Collect);
        assert_eq!((&collect["num-rollouts"], &collect["policy"]), (&5.into(), &"smooth".into()));
        assert_eq!(pole.flags(Stage::TrainEncoder)["model"], "identity".into());
        let with_options = preset.resolve("CartPole-v1:sutton_barto_reward=true", 1);
        assert_eq!(with_options.stages, pole.stages);
    }

    #[test]
    fn the_baseline_plays_the_episodes_of_the_evaluation() {
        let flags = parse(TEXT).unwrap().resolve("CarRacing-v3", 1).flags(Stage::Baseline);
        assert_eq!((&flags["episodes"], &flags["policy"]), (&20.into(), &"uniform".into()));
        assert_eq!(flags["video"], false.into());
    }

    #[test]
    fn a_resolved_preset_is_a_preset_that_gives_the_same() {
        for name in ["quick", "paper"] {
            let (_, preset) = load(name).unwrap();
            for environment in ["CarRacing-v3", "CartPole-v1"] {
                let resolved = preset.resolve(environment, 7);
                let again = parse(&resolved.to_toml().unwrap()).unwrap();
                assert_eq!(again.environment.as_deref(), Some(environment));
                let again = again.resolve(environment, again.seed.unwrap());
                assert_eq!(again, resolved);
            }
        }
    }

    #[test]
    fn unknown_presets_and_stages_are_answered_with_the_nearest() {
        let error = format!("{:#}", load("quik").unwrap_err());
        assert!(error.contains("did you mean `quick`?"), "{error}");
        let error = parse("[train-encode]\n").unwrap_err().to_string();
        assert!(error.contains("did you mean `train-encoder`?"), "{error}");
        let error = parse("[env.a.colect]\n").unwrap_err().to_string();
        assert!(error.contains("did you mean `collect`?"), "{error}");
        assert!(parse("num-rollouts = 1").unwrap_err().to_string().contains("`num-rollouts`"));
    }

    #[test]
    fn built_in_presets_are_described() {
        assert!(list().lines().all(|line| line.len() > 20), "{}", list());
    }
}
