//! The thread that keeps a worker alive and sends it what is in the mailbox.

use std::{
    io::{self, Write},
    path::PathBuf,
    sync::{Arc, mpsc},
    time::{Duration, Instant},
};

use crate::{
    Event, PlotterConfig, Subject,
    frame::{self, Snapshot, WorkerSettings},
    log::Log,
    mailbox::Mailbox,
    process::Process,
    report::{Report, read_reports},
    server,
    worker::clear_temporaries,
};

/// A worker that ended is started again after this, then after twice as long each time.
const FIRST_RESTART: Duration = Duration::from_millis(100);
/// The longest time before a restart.
const LAST_RESTART: Duration = Duration::from_secs(60);
/// A worker that lived as long is started again as after the first end.
const LONG_LIFE: Duration = Duration::from_secs(60);
/// So long a worker may take to end by itself.
const GRACE: Duration = Duration::from_millis(200);
/// So long what it said last may take to get into the log, where a process that it started says more.
const LAST_WORDS: Duration = Duration::from_millis(50);

/// What the thread holds.
pub(crate) struct Sender {
    mailbox: Arc<Mailbox>,
    process: Arc<Process>,
    config: PlotterConfig,
    /// What the workers say beside their reports, if there is a place for it.
    log: Option<Arc<Log>>,
    /// The port where a worker served last.
    served: Option<u16>,
    /// What the worker plays.
    subject: Option<Subject>,
    /// The last snapshot that was sent, for the next worker.
    snapshot: Option<Snapshot>,
    /// How many workers were started.
    life: u64,
    /// The last misfit that was told.
    misfit: Option<[usize; 2]>,
}

/// Why a worker is no longer fed.
enum Why {
    /// For this reason.
    Known(String),
    /// This was seen of it; how it ended says more.
    Seen(String),
}

/// Leaves nothing behind, also where the thread panics.
struct AtEnd {
    mailbox: Arc<Mailbox>,
    process: Arc<Process>,
    film: Option<PathBuf>,
}

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.process.reap(Duration::ZERO);
        self.film.iter().for_each(|film| clear_temporaries(film));
        self.mailbox.finish();
    }
}

impl Sender {
    pub(crate) fn new(mailbox: Arc<Mailbox>, process: Arc<Process>, config: PlotterConfig) -> Self {
        Self {
            mailbox,
            process,
            served: None,
            log: None,
            config,
            subject: None,
            snapshot: None,
            life: 0,
            misfit: None,
        }
    }

    /// Runs until the handle is closed.
    pub(crate) fn run(mut self) {
        let film = self.config.view.video.clone();
        // A trainer that was killed may have left something.
        film.iter().for_each(|film| clear_temporaries(film));
        let (mailbox, process) = (self.mailbox.clone(), self.process.clone());
        let _at_end = AtEnd { mailbox, process, film };
        self.log = self.config.run_dir.as_deref().map(|run| Arc::new(Log::new(run)));
        if let Err(error) = self.config.view.check() {
            // The worker takes the nearest that it can work with.
            self.tell(Event::Trouble(error.to_string()));
        }
        self.settle_token();
        let mut restart_in = FIRST_RESTART;
        loop {
            let born = Instant::now();
            let Some(reason) = self.live() else { return };
            if self.mailbox.wait_closed(Duration::ZERO) {
                return;
            }
            if born.elapsed() > LONG_LIFE {
                restart_in = FIRST_RESTART;
            }
            self.tell(Event::Ended { reason, restart_in });
            if self.mailbox.wait_closed(restart_in) {
                return;
            }
            restart_in = (2 * restart_in).min(LAST_RESTART);
        }
    }

    /// One worker, from its start to its end: why it ended, or nothing if the handle was closed.
    fn live(&mut self) -> Option<String> {
        self.life += 1;
        self.mailbox.begin_life();
        let program = self.config.worker.program.display();
        let pipes = match self.process.start(&self.config.worker, self.log.is_some()) {
            Ok(pipes) => pipes,
            Err(error) => return Some(format!("cannot be started: {program}: {error}")),
        };
        let logged = self.log.clone().zip(pipes.stderr).map(|(log, from)| {
            let (ends, ended) = mpsc::channel::<()>();
            let logger = std::thread::Builder::new().name("plotter log".into());
            // Without the thread there is no log.
            let _ = logger.spawn(move || {
                log.take_all(from);
                drop(ends);
            });
            ended
        });
        let (mailbox, life) = (self.mailbox.clone(), self.life);
        let reader = std::thread::Builder::new().name("plotter reports".into());
        let reading = reader.spawn(move || {
            let why = read_reports(pipes.stdout, |report| mailbox.put_report(report));
            mailbox.put_end(life, why);
        });
        let fed = match reading {
            Ok(_) => self.feed(pipes.stdin, pipes.id),
            Err(error) => Some(Why::Known(format!("cannot be listened to: {error}"))),
        };
        // Its input has ended, which tells it to end. One that closes its output is about to.
        let ends = self.mailbox.wait_ended(life, GRACE);
        let status = self.process.reap(if ends { GRACE } else { Duration::ZERO });
        // Its last words, which say why it ended where it could not be told anything any more.
        let _ = logged.map(|ended| ended.recv_timeout(LAST_WORDS));
        let why = fed?;
        for report in self.mailbox.take_reports() {
            self.hear(report, pipes.id);
        }
        Some(match (why, status) {
            (Why::Seen(_), Some(status)) => format!("ended with {status}"),
            (Why::Known(why) | Why::Seen(why), _) => why,
        })
    }

    /// Sends whatever comes: why that ended, or nothing if the handle was closed.
    fn feed(&mut self, mut to: impl Write, worker: u32) -> Option<Why> {
        let settings = WorkerSettings {
            parent: std::process::id(),
            run_dir: self.config.run_dir.clone(),
            view: self.config.view.clone(),
            served: self.served,
        };
        if let Err(error) = frame::write_settings(&mut to, &settings) {
            return Some(broken(error));
        }
        // A new worker knows nothing: it is sent what the one before knew, or what came since.
        let mut knows = false;
        loop {
            let news = self.mailbox.wait_for_news(self.life);
            if news.closed {
                return None;
            }
            let subject = !knows || news.subject.is_some();
            let snapshot = !knows || news.snapshot.is_some();
            // Kept before anything can go wrong, for the next worker.
            self.keep(news.subject, news.snapshot);
            for report in news.reports {
                self.hear(report, worker);
            }
            if let Some([got, expected]) = news.misfit.filter(|_| self.misfit != news.misfit) {
                self.misfit = news.misfit;
                self.tell(Event::Trouble(format!(
                    "a snapshot has {got} parameters, and its policy {expected}: it is not shown"
                )));
            }
            if let Some(why) = news.ended {
                let seen = || Why::Seen("closed its output".into());
                return Some(why.map_or_else(seen, Why::Known));
            }
            if let Err(why) = self.send(&mut to, subject, snapshot) {
                return Some(why);
            }
            knows = true;
        }
    }

    /// Keeps what is new; a snapshot of another policy than the new one is let go.
    fn keep(&mut self, subject: Option<Subject>, snapshot: Option<Snapshot>) {
        if let Some(subject) = subject {
            if self.subject.as_ref().is_some_and(|before| !subject.goes_on_from(before)) {
                self.snapshot = None;
            }
            self.subject = Some(subject);
        }
        if snapshot.is_some() && self.snapshot.is_none() {
            // The training has begun. One that is refused takes nothing from the run that is there.
            self.log.iter().for_each(|log| log.forget_earlier());
        }
        if let Some(snapshot) = snapshot
            && let Some(before) = self.snapshot.replace(snapshot)
        {
            self.mailbox.give_back(before.parameters);
        }
    }

    /// Sends the subject or the snapshot or both, the subject first.
    fn send(&self, to: &mut impl Write, subject: bool, snapshot: bool) -> Result<(), Why> {
        let subject = self.subject.iter().filter(|_| subject);
        let mut snapshot = self.snapshot.iter().filter(|_| snapshot);
        let sent = subject.into_iter().try_for_each(|s| frame::write_subject(to, s));
        let sent = sent.and_then(|()| snapshot.try_for_each(|s| frame::write_snapshot(to, s)));
        sent.map_err(broken)
    }

    fn hear(&mut self, report: Report, process: u32) {
        match report {
            Report::Ready { url, port } => {
                self.served = Some(port);
                self.tell(Event::Ready { url, process });
            }
            Report::Trouble(what) => self.tell(Event::Trouble(what)),
        }
    }

    fn tell(&self, event: Event) {
        (self.config.on_event)(event);
    }

    /// A page that needs a token keeps it when its worker is started again.
    fn settle_token(&mut self) {
        let view = &mut self.config.view;
        if view.token.as_ref().is_none_or(String::is_empty) && !view.address.is_loopback() {
            match server::fresh_token() {
                Ok(token) => view.token = Some(token),
                // The worker tries, too, and says what is wrong.
                Err(error) => self.tell(Event::Trouble(error.to_string())),
            }
        }
    }
}

fn broken(error: io::Error) -> Why {
    let why = format!("cannot be told anything: {error}");
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => Why::Known(why),
        _ => Why::Seen(why),
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

    use super::*;
    use crate::frame::{FrameReader, Message};

    fn sender(config: PlotterConfig) -> Sender {
        let actor = serde_json::Value::Null;
        let subject = Subject { environment: "a".into(), actor, parameters: 1 };
        Sender::new(Arc::new(Mailbox::new(subject)), Arc::default(), config)
    }

    #[test]
    fn each_worker_after_it_is_told_where_the_page_was() {
        let mut sender = sender(PlotterConfig::default());
        sender.hear(Report::Ready { url: String::new(), port: 755 }, 1);
        // The second comes where the first ended before it served.
        for _ in 0..2 {
            sender.mailbox.put_end(sender.life, None);
            let mut sent = Vec::new();
            sender.feed(&mut sent, 0);
            let Ok(Some(Message::Settings(settings))) = FrameReader::new(&*sent).next() else {
                panic!("{sent:?}");
            };
            assert_eq!(settings.served, Some(755));
        }
    }

    #[test]
    fn what_cannot_be_told_is_why_a_worker_ended() {
        let run_dir = Some(OsStr::from_bytes(b"run \xff").into());
        let mut sender = sender(PlotterConfig { run_dir, ..PlotterConfig::default() });
        let Some(Why::Known(why)) = sender.feed(Vec::new(), 0) else { panic!("it is not known") };
        assert!(why.contains("UTF-8"), "{why}");
    }

    #[test]
    fn what_comes_as_a_worker_ends_is_kept_for_the_next() {
        let subject = |environment: &str| Subject {
            environment: environment.into(),
            actor: serde_json::Value::Null,
            parameters: 1,
        };
        let mailbox = Arc::new(Mailbox::new(subject("a")));
        let config = PlotterConfig::default();
        let mut sender = Sender::new(mailbox.clone(), Arc::default(), config);
        mailbox.put_subject(subject("b"));
        mailbox.put_snapshot(7, &[0.5]);
        mailbox.put_end(sender.life, None);
        let mut sent = Vec::new();
        assert!(matches!(sender.feed(&mut sent, 0), Some(Why::Seen(_))));
        assert_eq!(sender.subject, Some(subject("b")));
        assert_eq!(sender.snapshot.map(|s| s.step), Some(7));
    }
}
