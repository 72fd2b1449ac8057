//! What is to be played: of each kind the newest.

use std::sync::Arc;

use crate::{Subject, frame::Snapshot};

/// What came since one looked, or all that is known.
#[derive(Default)]
pub(super) struct News {
    pub(super) subject: Option<Subject>,
    pub(super) snapshot: Option<Arc<Snapshot>>,
}

impl News {
    /// Changes what is played. A snapshot goes with the old subject, unless only the environment
    /// changed.
    pub(super) fn put_subject(&mut self, subject: Subject) {
        if self.subject.as_ref().is_some_and(|before| !subject.goes_on_from(before)) {
            self.snapshot = None;
        }
        self.subject = Some(subject);
    }

    /// Whether there is any.
    pub(super) fn is_some(&self) -> bool {
        self.subject.is_some() || self.snapshot.is_some()
    }

    /// Takes over what is newer, both if both came. Whether the subject is another one.
    pub(super) fn update(&mut self, newer: Self) -> bool {
        let other = newer.subject.is_some();
        newer.subject.into_iter().for_each(|subject| self.put_subject(subject));
        self.snapshot = newer.snapshot.or_else(|| self.snapshot.take());
        other
    }
}
