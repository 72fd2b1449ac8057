//! Looks after the directories of runs: their curves, and the policies that others save there.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use rl755_run::{Manifest, Status};

use super::{
    metrics_tail::MetricsTail,
    orders::Orders,
    trouble::{Trouble, catch},
};
use crate::{ActorFactory, SavedPolicy, Subject, frame::Snapshot, server::Curve};

/// How often a run's metrics are read.
const METRICS_EVERY: Duration = Duration::from_secs(1);
/// How often it is looked for newer policies.
const POLICIES_EVERY: Duration = Duration::from_secs(2);

/// A run's directory.
pub(super) struct RunWatch {
    orders: Arc<Orders>,
    metrics: Option<MetricsTail>,
    /// What of the episodes' returns is published.
    returns: Curve,
    /// Of another's run: where its policies are.
    policies: Option<Policies>,
}

struct Policies {
    run: PathBuf,
    subject: Option<Subject>,
    step: Option<u64>,
    looked: Option<Instant>,
}

impl RunWatch {
    /// The trainer's own run, whose policies come from it.
    pub(super) fn own(orders: Arc<Orders>, run: Option<&Path>) -> Self {
        let metrics = run.map(MetricsTail::new);
        Self { orders, metrics, returns: Curve::default(), policies: None }
    }

    /// The run of another.
    pub(super) fn other(orders: Arc<Orders>, run: &Path) -> Self {
        let policies = Policies { run: run.to_owned(), subject: None, step: None, looked: None };
        Self { policies: Some(policies), ..Self::own(orders, Some(run)) }
    }

    /// Looks what is new.
    fn look(&mut self, actors: &dyn ActorFactory) {
        let mut trouble = None;
        let grown = match self.metrics.as_mut().map_or(Ok(false), MetricsTail::read_on) {
            Ok(grown) => grown,
            Err(error) => {
                trouble = Some(format!("the run's metrics: {error}"));
                false
            }
        };
        let returns = self.orders.returns();
        if grown || returns != self.returns {
            self.returns = returns.clone();
            let of_run = self.metrics.iter().flat_map(MetricsTail::curves);
            let curves = std::iter::once(returns).chain(of_run);
            self.orders.run().curves(curves.filter(|curve| !curve.x.is_empty()).collect());
        }
        if let Some(policies) = &mut self.policies
            && policies.looked.is_none_or(|looked| looked.elapsed() >= POLICIES_EVERY)
        {
            policies.looked = Some(Instant::now());
            if let Err(error) = catch(|| policies.look(actors, &self.orders)) {
                trouble = Some(error.to_string());
            }
        }
        if trouble.is_some() {
            self.orders.tell(|status| status.trouble = trouble);
        }
    }
}

impl Policies {
    fn look(&mut self, actors: &dyn ActorFactory, orders: &Orders) -> Result<(), Trouble> {
        let finished = is_complete(&self.run);
        orders.tell(|status| status.finished = finished);
        let Some(saved) = actors.of_run(&self.run, self.step)? else { return Ok(()) };
        let SavedPolicy { subject, step, made, parameters } = saved;
        self.step = Some(step);
        if self.subject.as_ref() != Some(&subject) {
            self.subject = Some(subject.clone());
            orders.put_subject(subject);
        }
        orders.put_snapshot(Snapshot { step, made, parameters });
        Ok(())
    }
}

fn is_complete(run: &Path) -> bool {
    let manifest = std::fs::read(run.join("manifest.json")).ok();
    let manifest = manifest.and_then(|json| serde_json::from_slice::<Manifest>(&json).ok());
    manifest.is_some_and(|manifest| manifest.status == Status::Complete)
}

/// Looks after all runs while somebody looks at one of them, or always where one is filmed.
pub(super) fn watch(mut watches: Vec<RunWatch>, actors: &dyn ActorFactory, filmed: bool) -> ! {
    loop {
        if filmed || watches.iter().any(|watch| watch.orders.is_watched()) {
            watches.iter_mut().for_each(|watch| watch.look(actors));
        }
        // Nothing tells when files grow on a network's file system, where runs of other machines lie.
        std::thread::sleep(METRICS_EVERY);
    }
}
