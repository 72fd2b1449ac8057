//! Statistics while records are read: sums that do not depend on which thread read which file.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use rl755_env::EnvSpec;

use super::{
    LatentStatistics, RolloutPlace, Statistics, Summary,
    contact_sheet::{ROWS, evenly},
    histogram::Counter,
    summary::Sums,
};
use crate::{
    record::FRAMING_BYTES,
    verify::check::{CheckedRecord, Place},
};

/// Statistics of the records of some files, in their order.
///
/// Sums of floats depend on their order. So each file is added up by itself, by one thread, and
/// files are [appended](Self::append) in their order.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    files: Vec<PathBuf>,
    groups: Vec<Group>,
}

/// Rollouts of one environment and kind.
#[derive(Debug)]
struct Group {
    environment: EnvSpec,
    format: String,
    /// For each rollout: which file it lies in, and where.
    places: Vec<(usize, Place)>,
    returns: Vec<f64>,
    lengths: Vec<f64>,
    terminated: u64,
    truncated: u64,
    policies: BTreeMap<String, u64>,
    actions: Vec<Counter>,
    latents: Vec<LatentSums>,
}

/// What is added up of one latent.
#[derive(Clone, Copy, Debug, Default)]
struct LatentSums {
    means: Sums,
    std_devs: Sums,
    divergence: Sums,
    /// A standard deviation of 0 was seen.
    deterministic: bool,
}

impl Tally {
    /// Of no records of the file at `path`.
    pub(crate) fn of_file(path: &Path) -> Self {
        Self { files: vec![path.to_owned()], groups: Vec::new() }
    }

    /// Adds the record at `place` of the last file.
    pub(crate) fn add(&mut self, record: &CheckedRecord, place: Place) {
        let head = &record.head;
        let latent_width = record.latents.as_ref().map_or(0, |[means, _]| means.ncols());
        let file = self.files.len() - 1;
        let group = self.group(&head.environment, &head.format, latent_width);
        group.places.push((file, place));
        group.returns.push(record.rewards.iter().map(|&r| f64::from(r)).sum());
        group.lengths.push(head.steps as f64);
        group.terminated += u64::from(head.terminated);
        group.truncated += u64::from(head.truncated);
        match group.policies.get_mut(&head.policy) {
            Some(rollouts) => *rollouts += 1,
            None => drop(group.policies.insert(head.policy.clone(), 1)),
        }
        for action in record.actions.rows() {
            for (counter, &value) in group.actions.iter_mut().zip(action) {
                counter.add(value);
            }
        }
        if let Some([means, std_devs]) = &record.latents {
            for (means, std_devs) in means.rows().into_iter().zip(std_devs.rows()) {
                for ((sums, &mean), &std_dev) in group.latents.iter_mut().zip(means).zip(std_devs) {
                    sums.add(mean.into(), std_dev.into());
                }
            }
        }
    }

    fn group(&mut self, environment: &EnvSpec, format: &str, latent_width: usize) -> &mut Group {
        let same = |group: &Group| {
            group.environment == *environment
                && group.format == format
                && group.latents.len() == latent_width
        };
        let index = self.groups.iter().position(same).unwrap_or_else(|| {
            self.groups.push(Group {
                environment: environment.clone(),
                format: format.to_owned(),
                places: Vec::new(),
                returns: Vec::new(),
                lengths: Vec::new(),
                terminated: 0,
                truncated: 0,
                policies: BTreeMap::new(),
                actions: Counter::all_of(&environment.action_space),
                latents: vec![LatentSums::default(); latent_width],
            });
            self.groups.len() - 1
        });
        &mut self.groups[index]
    }

    /// Adds the files of `later` after these.
    pub(crate) fn append(&mut self, later: Self) {
        let files = self.files.len();
        self.files.extend(later.files);
        for more in later.groups {
            let group = self.group(&more.environment, &more.format, more.latents.len());
            group.places.extend(more.places.into_iter().map(|(file, place)| (files + file, place)));
            group.returns.extend(more.returns);
            group.lengths.extend(more.lengths);
            group.terminated += more.terminated;
            group.truncated += more.truncated;
            for (policy, rollouts) in more.policies {
                *group.policies.entry(policy).or_default() += rollouts;
            }
            for (counter, more) in group.actions.iter_mut().zip(more.actions) {
                counter.append(more);
            }
            for (sums, more) in group.latents.iter_mut().zip(more.latents) {
                sums.append(more);
            }
        }
    }

    /// The statistics of each environment and kind, in the order in which they came.
    pub(crate) fn finish(self) -> Vec<Statistics> {
        let files = self.files;
        self.groups.into_iter().map(|group| group.finish(&files)).collect()
    }
}

impl Group {
    fn finish(self, files: &[PathBuf]) -> Statistics {
        let sample = |index: usize| {
            let (file, Place { record, offset, length }) = self.places[index];
            RolloutPlace { path: files[file].clone(), record, offset, length }
        };
        Statistics {
            rollouts: self.places.len() as u64,
            steps: self.lengths.iter().map(|&steps| steps as u64).sum(),
            bytes: self.places.iter().map(|(_, place)| place.length + FRAMING_BYTES).sum(),
            returns: Summary::of(&self.returns),
            lengths: Summary::of(&self.lengths),
            samples: evenly(self.places.len(), ROWS).map(sample).collect(),
            environment: self.environment,
            observation_format: self.format,
            terminated: self.terminated,
            truncated: self.truncated,
            policies: self.policies,
            actions: self.actions.into_iter().map(Counter::finish).collect(),
            latents: self.latents.into_iter().map(LatentSums::finish).collect(),
        }
    }
}

impl LatentSums {
    fn add(&mut self, mean: f64, std_dev: f64) {
        self.means.add(mean);
        self.std_devs.add(std_dev);
        let variance = std_dev * std_dev;
        self.deterministic |= variance == 0.0;
        // Kingma and Welling, Auto-Encoding Variational Bayes, appendix B.
        self.divergence.add(0.5 * (mean * mean + variance - 1.0 - variance.ln()));
    }

    fn append(&mut self, later: Self) {
        self.means.append(later.means);
        self.std_devs.append(later.std_devs);
        self.divergence.append(later.divergence);
        self.deterministic |= later.deterministic;
    }

    fn finish(self) -> LatentStatistics {
        LatentStatistics {
            mean: self.means.mean(),
            std_dev: self.means.std_dev(),
            posterior_std_dev: self.std_devs.mean(),
            divergence: (!self.deterministic).then_some(self.divergence.mean()),
        }
    }
}
