//! The handle that a training holds.

use std::{
    fmt,
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

use rl755_run::Spectator;

use crate::{Event, PlotterConfig, Subject, mailbox::Mailbox, process::Process, sender::Sender};

/// So long the sender may take to end the worker by itself, and then after it was killed.
const CLOSE_IN: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(300)];

/// Shows what is trained in a worker process, and never keeps the training waiting.
///
/// Whatever the worker does, an [`update`](Self::update) is a copy of the parameters and a notice
/// to a thread. Of several snapshots that came while the worker was busy it gets the newest.
///
/// Dropped, it [closes](Self::close). Where the process ends without that, by `exit`, Ctrl-C or
/// `kill -9`, the worker ends by itself.
pub struct Plotter {
    mailbox: Arc<Mailbox>,
    process: Arc<Process>,
    sender: Option<JoinHandle<()>>,
}

impl Plotter {
    /// Starts a worker that will play `subject`, in the background: this waits for nothing and
    /// cannot fail. What goes wrong is an [`Event`].
    pub fn start(config: PlotterConfig, subject: Subject) -> Self {
        let mailbox = Arc::new(Mailbox::new(subject));
        let process = Arc::new(Process::default());
        let on_event = config.on_event.clone();
        let sender = Sender::new(mailbox.clone(), process.clone(), config);
        let thread = thread::Builder::new().name("plotter".into()).spawn(move || sender.run());
        let sender = thread.map_err(|error| {
            on_event(Event::Trouble(format!("nothing is shown: no thread can be had: {error}")));
        });
        let sender = sender.ok();
        Self { mailbox, process, sender }
    }

    /// What is played from now on. Snapshots of before are played on if only the environment
    /// changed.
    pub fn set_subject(&self, subject: Subject) {
        self.mailbox.put_subject(subject);
    }

    /// The policy has these `parameters` after `step` steps of training. They replace the snapshot
    /// that was not sent yet, if there is one. As many as the [`Subject`] says, or they are not
    /// shown, which is an [`Event`].
    pub fn update(&self, step: u64, parameters: &[f32]) {
        self.mailbox.put_snapshot(step, parameters);
    }

    /// Ends the worker, and waits until it is gone: less than a second, whatever it does.
    pub fn close(self) {}
}

impl Drop for Plotter {
    fn drop(&mut self) {
        let Some(sender) = self.sender.take() else { return };
        self.mailbox.close();
        if !self.mailbox.wait_finished(CLOSE_IN[0]) {
            // It is writing to a worker that does not read.
            self.process.kill();
        }
        // A callback that does not return must not keep the training from ending either.
        if self.mailbox.wait_finished(CLOSE_IN[1]) {
            // A panic in there has been printed.
            let _ = sender.join();
        }
    }
}

impl Spectator for Plotter {
    fn update(&self, step: u64, parameters: &[f32]) {
        self.update(step, parameters);
    }
}

impl fmt::Debug for Plotter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plotter").finish_non_exhaustive()
    }
}
