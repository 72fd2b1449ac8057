//! What lies between the trainer's threads and the plotter's: one place per kind of news, in which
//! newer news replaces older.

use std::{
    collections::VecDeque,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use crate::{Subject, frame::Snapshot, report::Report};

/// Snapshots are taken no oftener: sending them costs the training's processors time, and people
/// see no difference.
const SNAPSHOTS_EVERY: Duration = Duration::from_millis(100);
/// No more reports of a worker are kept.
const MOST_REPORTS: usize = 16;

/// Shared by the handle, the sender thread and the thread that reads what the worker reports.
#[derive(Debug)]
pub(crate) struct Mailbox {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// What is to be played.
    subject: Subject,
    /// Whether the sender has yet to take it.
    subject_is_new: bool,
    /// The newest snapshot, until the sender takes it.
    snapshot: Option<Snapshot>,
    /// The sender takes no snapshot earlier, and wakes up then.
    next_snapshot: Instant,
    /// A buffer that nobody uses.
    spare: Option<Vec<f32>>,
    /// How many parameters a snapshot had, and its policy, where these differed.
    misfit: Option<[usize; 2]>,
    reports: VecDeque<Report>,
    /// The last life of a worker whose reports ended, and why they did if not by themselves.
    ended: Option<(u64, Option<String>)>,
    closed: bool,
    finished: bool,
}

/// News that the sender takes all at once.
#[derive(Debug)]
pub(crate) struct News {
    /// What is to be played from now on.
    pub(crate) subject: Option<Subject>,
    /// The newest snapshot, of the subject above if there is one.
    pub(crate) snapshot: Option<Snapshot>,
    /// How many parameters a snapshot had, and its policy, where these differed.
    pub(crate) misfit: Option<[usize; 2]>,
    /// What the worker reported.
    pub(crate) reports: VecDeque<Report>,
    /// The worker's reports ended; and why, if not by themselves.
    pub(crate) ended: Option<Option<String>>,
    /// The handle was closed.
    pub(crate) closed: bool,
}

impl Mailbox {
    /// With what is to be played first.
    pub(crate) fn new(subject: Subject) -> Self {
        let state = State {
            subject,
            subject_is_new: true,
            snapshot: None,
            next_snapshot: Instant::now(),
            spare: None,
            misfit: None,
            reports: VecDeque::new(),
            ended: None,
            closed: false,
            finished: false,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Puts in a snapshot. Parameters are copied while nobody is kept from the mailbox.
    pub(crate) fn put_snapshot(&self, step: u64, parameters: &[f32]) {
        let spare = {
            let mut state = self.lock();
            if state.subject.parameters != parameters.len() {
                state.misfit = Some([parameters.len(), state.subject.parameters]);
                drop(state);
                self.changed.notify_all();
                return;
            }
            state.spare.take()
        };
        let mut copy = spare.unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(parameters);
        let snapshot = Snapshot { step, made: SystemTime::now(), parameters: copy };
        let mut state = self.lock();
        // Another thread may have changed the subject since.
        let replaced = match state.subject.parameters == parameters.len() {
            true => state.snapshot.replace(snapshot),
            false => Some(snapshot),
        };
        let unused = state.keep_spare(replaced.map(|s| s.parameters));
        let awaited = state.next_snapshot <= Instant::now();
        drop(state);
        if awaited {
            self.changed.notify_all();
        }
        // Freed while nobody waits for it.
        drop(unused);
    }

    /// Changes what is to be played. A snapshot that was not sent goes with the old subject, unless
    /// only the environment changed.
    pub(crate) fn put_subject(&self, subject: Subject) {
        let mut state = self.lock();
        if !subject.goes_on_from(&state.subject) {
            (state.snapshot, state.spare) = (None, None);
        }
        state.subject = subject;
        state.subject_is_new = true;
        state.next_snapshot = Instant::now();
        drop(state);
        self.changed.notify_all();
    }

    /// Takes back the buffer of a snapshot that is no longer needed.
    pub(crate) fn give_back(&self, buffer: Vec<f32>) {
        let unused = self.lock().keep_spare(Some(buffer));
        drop(unused);
    }

    /// A worker is started: what the one before reported is no news, and the subject is.
    pub(crate) fn begin_life(&self) {
        let mut state = self.lock();
        state.reports.clear();
        state.subject_is_new = true;
        state.next_snapshot = Instant::now();
    }

    /// A report of the worker; the oldest is lost if nobody takes them.
    pub(crate) fn put_report(&self, report: Report) {
        let mut state = self.lock();
        if state.reports.len() == MOST_REPORTS {
            state.reports.pop_front();
        }
        state.reports.push_back(report);
        drop(state);
        self.changed.notify_all();
    }

    /// What the worker reported since that was taken last.
    pub(crate) fn take_reports(&self) -> VecDeque<Report> {
        std::mem::take(&mut self.lock().reports)
    }

    /// The worker of that life reports no more; and why, if not by itself.
    pub(crate) fn put_end(&self, life: u64, why: Option<String>) {
        self.lock().ended = Some((life, why));
        self.changed.notify_all();
    }

    /// Asks the sender to end.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// The sender ended.
    pub(crate) fn finish(&self) {
        self.lock().finished = true;
        self.changed.notify_all();
    }

    /// Waits until the sender ended; whether it did within `limit`.
    pub(crate) fn wait_finished(&self, limit: Duration) -> bool {
        self.wait_until(Instant::now() + limit, |state| state.finished)
    }

    /// Waits until the handle is closed; whether it was within `limit`.
    pub(crate) fn wait_closed(&self, limit: Duration) -> bool {
        self.wait_until(Instant::now() + limit, |state| state.closed)
    }

    /// Waits until the worker of `life` reports no more; whether that was within `limit`.
    pub(crate) fn wait_ended(&self, life: u64, limit: Duration) -> bool {
        let ended = |state: &State| matches!(state.ended, Some((of, _)) if of == life);
        self.wait_until(Instant::now() + limit, ended)
    }

    /// Waits for news of anything, with the worker in its `life`, and takes it.
    pub(crate) fn wait_for_news(&self, life: u64) -> News {
        let mut state = self.lock();
        loop {
            let now = Instant::now();
            let wait = state.next_snapshot.saturating_duration_since(now);
            let ended = state.ended.as_ref().filter(|(of, _)| *of == life);
            let ended = ended.map(|(_, why)| why.clone());
            let news = News {
                subject: std::mem::take(&mut state.subject_is_new).then(|| state.subject.clone()),
                snapshot: state.snapshot.take_if(|_| wait.is_zero()),
                misfit: state.misfit.take(),
                reports: std::mem::take(&mut state.reports),
                ended,
                closed: state.closed,
            };
            if news.snapshot.is_some() {
                state.next_snapshot = now + SNAPSHOTS_EVERY;
            }
            if news.is_any() {
                return news;
            }
            state = match wait.is_zero() {
                true => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                false => self.wait_for(state, wait),
            };
        }
    }

    fn wait_until(&self, deadline: Instant, reached: impl Fn(&State) -> bool) -> bool {
        let mut state = self.lock();
        while !reached(&state) {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { return false };
            state =
                self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn wait_for<'a>(&self, state: MutexGuard<'a, State>, limit: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, limit).unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that is done with the lock can panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Keeps `buffer` if it fits and there is no spare one, or gives it back to be freed.
    fn keep_spare(&mut self, buffer: Option<Vec<f32>>) -> Option<Vec<f32>> {
        let fits = buffer.as_ref().is_some_and(|b| b.len() == self.subject.parameters);
        if fits && self.spare.is_none() {
            self.spare = buffer;
            return None;
        }
        buffer
    }
}

impl News {
    fn is_any(&self) -> bool {
        self.closed
            || self.subject.is_some()
            || self.snapshot.is_some()
            || self.misfit.is_some()
            || self.ended.is_some()
            || !self.reports.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(environment: &str, actor: &str, parameters: usize) -> Subject {
        Subject { environment: environment.into(), actor: actor.into(), parameters }
    }

    #[test]
    fn the_newest_snapshot_wins() {
        let mailbox = Mailbox::new(subject("a", "x", 2));
        for step in 0..10 {
            mailbox.put_snapshot(step, &[step as f32, 0.5]);
        }
        let news = mailbox.wait_for_news(1);
        assert_eq!(news.subject, Some(subject("a", "x", 2)));
        let snapshot = news.snapshot.unwrap();
        assert_eq!((snapshot.step, snapshot.parameters), (9, vec![9.0, 0.5]));
    }

    #[test]
    fn a_subject_and_a_snapshot_are_taken_together() {
        let mailbox = Mailbox::new(subject("a", "x", 1));
        mailbox.wait_for_news(1);
        mailbox.put_snapshot(1, &[1.0]);
        mailbox.put_subject(subject("b", "y", 2));
        mailbox.put_snapshot(2, &[2.0, 2.0]);
        let news = mailbox.wait_for_news(1);
        assert_eq!(news.subject, Some(subject("b", "y", 2)));
        assert_eq!(news.snapshot.unwrap().step, 2);
    }

    #[test]
    fn a_new_worker_is_told_the_subject_again() {
        let mailbox = Mailbox::new(subject("a", "x", 1));
        for life in 1..4 {
            mailbox.begin_life();
            assert_eq!(mailbox.wait_for_news(life).subject, Some(subject("a", "x", 1)));
        }
    }

    #[test]
    fn a_snapshot_outlives_only_a_change_of_the_environment() {
        let check = |next: Subject, kept: bool| {
            let mailbox = Mailbox::new(subject("a", "x", 1));
            mailbox.put_snapshot(1, &[1.0]);
            mailbox.put_subject(next);
            assert_eq!(mailbox.wait_for_news(1).snapshot.is_some(), kept);
        };
        check(subject("b", "x", 1), true);
        check(subject("a", "y", 1), false);
        check(subject("a", "x", 2), false);
    }

    #[test]
    fn three_buffers_are_used_however_many_snapshots_come() {
        let mailbox = Mailbox::new(subject("a", "x", 4));
        let mut seen = std::collections::BTreeSet::new();
        let mut held = None;
        for step in 0..1000 {
            mailbox.put_snapshot(step, &[0.0; 4]);
            if step % 100 == 0 {
                let snapshot = mailbox.wait_for_news(1).snapshot.unwrap();
                seen.insert(snapshot.parameters.as_ptr() as usize);
                if let Some(before) = held.replace(snapshot.parameters) {
                    mailbox.give_back(before);
                }
            }
        }
        assert!(seen.len() <= 3, "{seen:?}");
    }

    #[test]
    fn snapshots_are_taken_now_and_then_and_the_last_one_always() {
        let mailbox = Mailbox::new(subject("a", "x", 1));
        let began = Instant::now();
        mailbox.put_snapshot(1, &[1.0]);
        assert_eq!(mailbox.wait_for_news(1).snapshot.unwrap().step, 1);
        mailbox.put_snapshot(2, &[2.0]);
        mailbox.put_snapshot(3, &[3.0]);
        assert_eq!(mailbox.wait_for_news(1).snapshot.unwrap().step, 3);
        assert!(began.elapsed() >= SNAPSHOTS_EVERY);
        // Those of another subject need not wait.
        mailbox.put_subject(subject("b", "x", 1));
        mailbox.put_snapshot(4, &[4.0]);
        assert_eq!(mailbox.wait_for_news(1).snapshot.unwrap().step, 4);
    }

    #[test]
    fn parameters_that_do_not_fit_are_told_and_not_sent() {
        let mailbox = Mailbox::new(subject("a", "x", 4));
        mailbox.put_snapshot(1, &[0.0; 5]);
        let news = mailbox.wait_for_news(1);
        assert_eq!((news.misfit, news.snapshot), (Some([5, 4]), None));
    }

    #[test]
    fn the_end_of_an_earlier_life_is_no_news() {
        let mailbox = Mailbox::new(subject("a", "x", 0));
        mailbox.wait_for_news(2);
        mailbox.put_end(1, None);
        mailbox.close();
        let news = mailbox.wait_for_news(2);
        assert_eq!((news.ended, news.closed), (None, true));
    }
}
