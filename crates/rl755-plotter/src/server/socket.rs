//! One browser: what it has seen, and what it is sent next.
//!
//! Nothing is queued for it. When it can take something, it gets what is newest then; when it
//! takes nothing for some time, it is let go. It says how much of the moving picture it has
//! shown, so that what is on its way (in the buffers of systems and tunnels, too) stays little and
//! what it shows is recent.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures_util::{SinkExt, StreamExt};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::{self, Instant},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Bytes, Message,
        protocol::{Role, WebSocketConfig},
    },
};

use super::{
    hub::{Curve, Hub, Stamp, Viewing},
    message::{self, Said},
};

/// How long a message of a browser may be.
const MESSAGE_BYTES: usize = 4096;
/// How many binary messages may be on their way.
const UNSEEN: u64 = 8;
/// How often a browser is asked whether it is still there, and told that this is.
const PING_EVERY: Duration = Duration::from_secs(15);
/// After which silence it is not.
const SILENCE: Duration = Duration::from_secs(45);
/// For how long it may take nothing of what it is sent.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);

/// Talks with a browser until one of both has enough.
pub(super) async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, hub: &Arc<Hub>) {
    let config = WebSocketConfig::default()
        .read_buffer_size(MESSAGE_BYTES)
        .max_message_size(Some(MESSAGE_BYTES))
        .max_frame_size(Some(MESSAGE_BYTES));
    let mut socket = WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await;
    let mut browser = Browser::new(Arc::clone(hub));
    let mut news = hub.subscribe();
    let mut pings = time::interval(PING_EVERY);
    let mut heard = Instant::now();
    loop {
        tokio::select! {
            said = socket.next() => match said {
                Some(Ok(said)) => {
                    heard = Instant::now();
                    if let Message::Text(text) = said {
                        browser.says(&Said::read(&text));
                    }
                }
                // It closed, or what it sent is no web socket's or too long.
                _ => return,
            },
            there = news.changed() => if there.is_err() { return },
            _ = pings.tick() => {
                if heard.elapsed() > SILENCE {
                    return;
                }
                // Browsers answer pings by themselves, but do not tell the page of them.
                for sign in [Message::Ping(Bytes::new()), Message::text("{}")] {
                    if !in_time(socket.send(sign)).await {
                        return;
                    }
                }
            }
        }
        news.mark_unchanged();
        for message in browser.news() {
            if !in_time(socket.send(message)).await {
                return;
            }
        }
    }
}

/// Whether it was sent, and before the browser's time was over.
async fn in_time<E>(sending: impl Future<Output = Result<(), E>>) -> bool {
    matches!(time::timeout(SEND_TIMEOUT, sending).await, Ok(Ok(())))
}

/// What a browser looks at and what it has got.
struct Browser {
    hub: Arc<Hub>,
    viewing: Option<Viewing>,
    /// Up to where it knows of all runs.
    known: Stamp,
    /// Up to where it knows what there is to see of the run that it looks at.
    told: Stamp,
    /// Up to where it has got what moves there.
    shown: Stamp,
    /// The curves that it has, by run.
    curves: Vec<Arc<[Arc<Curve>]>>,
    sent: u64,
    seen: u64,
}

impl Browser {
    fn new(hub: Arc<Hub>) -> Self {
        let viewing = None;
        Self { hub, viewing, known: 0, told: 0, shown: 0, curves: Vec::new(), sent: 0, seen: 0 }
    }

    fn says(&mut self, said: &Said) {
        if let Some(run) = said.run
            && run != self.viewing.as_ref().map(Viewing::run)
        {
            self.viewing = run.and_then(|run| self.hub.view(run));
            (self.told, self.shown) = (0, 0);
        }
        if let Some(seen) = said.seen {
            self.seen = seen.min(self.sent);
        }
        if let Some(viewing) = &self.viewing {
            for command in said.commands() {
                self.hub.command(viewing.run(), command);
            }
        }
    }

    /// What it has not got yet and can take now.
    fn news(&mut self) -> Vec<Message> {
        let mut news = Vec::new();
        let mut curves = Vec::new();
        let mut moving = Vec::new();
        let stamp;
        {
            let runs = self.hub.runs();
            stamp = *self.hub.subscribe().borrow();
            if runs.iter().any(|run| run.added > self.known) {
                news.push(message::runs(runs.iter().map(|run| run.name.as_str())).into());
            }
            for (index, run) in runs.iter().enumerate() {
                if let Some(status) = &run.status
                    && status.stamp > self.known
                {
                    let status = message::status(index, &status.value, SystemTime::now());
                    news.push(status.into());
                }
                if let Some(newest) = &run.curves
                    && newest.stamp > self.known
                {
                    curves.push((index, Arc::clone(&newest.value)));
                }
            }
            if let Some(run) = self.viewing.as_ref().and_then(|viewing| runs.get(viewing.run())) {
                if let Some(shown) = &run.shown
                    && shown.stamp > self.told
                {
                    news.push(Message::text(&*shown.value));
                }
                self.told = stamp;
                if self.sent - self.seen < UNSEEN {
                    let frames = run.frames.iter().flatten();
                    let newest = run.poses.iter().chain(frames).filter(|p| p.stamp > self.shown);
                    moving.extend(newest.map(|picture| Message::Binary(picture.value.clone())));
                    self.shown = stamp;
                }
            }
        }
        self.known = stamp;
        for (run, curves) in curves {
            if self.curves.len() <= run {
                self.curves.resize_with(run + 1, Arc::default);
            }
            news.push(message::curves(run, &curves, &self.curves[run]).into());
            self.curves[run] = curves;
        }
        self.sent += moving.len() as u64;
        news.extend(moving);
        news
    }
}
