//! `--plot`, `--video` and `--window`: a training that is watched.

use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use anyhow::bail;
use rl755_plotter::{Event, Plotter, PlotterConfig, Subject, ViewConfig};
use rl755_run::{NoSpectator, Spectator};

use crate::{Desk, Plugins, view_flags::ViewFlags};

// Flags of trainings of something that acts. (A doc comment would replace the stage's help text.)
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct PlotFlags {
    /// Show the newest policy while it is trained, on a page for browsers whose address is printed.
    /// The results do not depend on it
    #[arg(long)]
    plot: bool,
    /// The page's port [default: 6755 or the next free one]
    #[arg(long, value_name = "PORT", value_parser = port, requires = "plot")]
    plot_port: Option<u16>,
    /// The address that the page is served at [default: 127.0.0.1, which other machines do not reach;
    /// beyond that, browsers need a token, which is part of the address that is printed]
    #[arg(long, value_name = "IP", requires = "plot")]
    plot_address: Option<IpAddr>,
    /// The token that browsers need [default: none on 127.0.0.1, else a random one]
    #[arg(long, value_name = "TEXT", value_parser = token, requires = "plot")]
    plot_token: Option<String>,
    /// How many times as fast as real time episodes are played, from 0.1 to 100, on the page
    /// and in the window [default: 5]
    #[arg(long, value_name = "F", value_parser = speed)]
    plot_speed: Option<f64>,
    #[command(flatten)]
    view: ViewFlags,
}

/// So many different events are remembered.
const MOST_TOLD: usize = 16;

/// Who watches a training.
pub(crate) enum Watcher {
    Nobody(NoSpectator),
    People { plotter: Plotter, film: Option<FilmFile> },
}

impl Watcher {
    pub(crate) fn spectator(&self) -> &dyn Spectator {
        match self {
            Self::Nobody(nobody) => nobody,
            Self::People { plotter, .. } => plotter,
        }
    }

    /// Watches no more, and says what came of it if that is nothing.
    pub(crate) fn close(self, desk: &Desk) {
        let Self::People { plotter, film } = self else { return };
        plotter.close();
        if let Some(film) = film.filter(|film| !film.is_new()) {
            let path = film.path.display();
            desk.say(&format!(
                "{path}: no film was finished before the training ended; rl755-evaluate --video films \
                 what was trained"
            ));
        }
    }
}

/// Where there is to be a film.
pub(crate) struct FilmFile {
    path: PathBuf,
    /// When it was written before the training, if it was.
    before: Option<SystemTime>,
}

impl FilmFile {
    fn new(path: PathBuf) -> Self {
        Self { before: written(&path), path }
    }

    /// Whether it was written since.
    fn is_new(&self) -> bool {
        written(&self.path) != self.before
    }
}

fn written(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|found| found.modified()).ok()
}

impl PlotFlags {
    /// Starts the plotter, if there is to be one, of the run in `model_dir`: it plays what `subject`
    /// gives, for `max_steps` at most.
    ///
    /// # Errors
    /// What `subject` returns, and when it cannot be watched in that way.
    pub(crate) fn start(
        self,
        plugins: &Plugins,
        desk: &Desk,
        model_dir: &Path,
        max_steps: Option<u32>,
        subject: impl FnOnce() -> anyhow::Result<Subject>,
    ) -> anyhow::Result<Watcher> {
        let Self { plot, plot_port, plot_address, plot_token, plot_speed, view } = self;
        if plot_speed.is_some() && !(plot || view.window) {
            bail!("--plot-speed is for --plot and --window");
        }
        if !plot && !view.is_some() {
            return Ok(Watcher::Nobody(NoSpectator));
        }
        let subject = subject()?;
        view.check(&plugins.environments, &subject.environment)?;
        let default = ViewConfig::default();
        let film = view.video.clone().map(FilmFile::new);
        let desk = desk.clone();
        let told = Mutex::new(Vec::new());
        let config = PlotterConfig {
            run_dir: Some(model_dir.to_owned()),
            view: ViewConfig {
                port: plot_port.unwrap_or(default.port),
                address: plot_address.unwrap_or(default.address),
                token: plot_token,
                speed_up: plot_speed.unwrap_or(default.speed_up),
                max_episode_steps: max_steps,
                page: plot,
                window: view.window,
                video: view.video,
                ..default
            },
            on_event: Arc::new(move |event| {
                let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
                if is_news(&mut told, &event) {
                    desk.say(&event.to_string());
                }
            }),
            ..PlotterConfig::default()
        };
        Ok(Watcher::People { plotter: Plotter::start(config, subject), film })
    }
}

/// Whether people have not been `told` of the event since the page was served last: a worker that
/// cannot be kept alive says the same once a minute.
fn is_news(told: &mut Vec<Event>, event: &Event) -> bool {
    if matches!(event, Event::Ready { .. }) {
        told.clear();
        return true;
    }
    if told.contains(event) {
        return false;
    }
    if told.len() == MOST_TOLD {
        told.remove(0);
    }
    told.push(event.clone());
    true
}

/// A port that can be served.
pub(crate) fn port(text: &str) -> Result<u16, String> {
    let found = text.parse().ok().filter(|port| *port >= 1);
    found.ok_or_else(|| "it must be a whole number from 1 to 65535".to_owned())
}

/// A speed that the plotter can play at.
pub(crate) fn speed(text: &str) -> Result<f64, String> {
    let found = text.parse().ok().filter(|speed| (0.1..=100.0).contains(speed));
    found.ok_or_else(|| "it must be a number from 0.1 to 100".to_owned())
}

/// A token that an address can have in it as it is.
pub(crate) fn token(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    if !(8..=128).contains(&text.len()) || !text.chars().all(plain) {
        return Err("it must be 8 to 128 letters, digits, or any of - . _ ~".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_happens_again_and_again_is_told_once_until_the_page_is_served() {
        let mut told = Vec::new();
        let ended = |seconds| Event::Ended {
            reason: "ended".into(),
            restart_in: Duration::from_secs(seconds),
        };
        let ready = Event::Ready { url: "http://127.0.0.1:6755/".into(), process: 7 };
        for seconds in 0..100 {
            assert!(is_news(&mut told, &ended(seconds)));
            assert!(!is_news(&mut told, &ended(seconds)));
        }
        assert!(told.len() <= MOST_TOLD);
        for _ in 0..2 {
            assert!(is_news(&mut told, &ready));
            assert!(is_news(&mut told, &ended(60)));
            assert!(is_news(&mut told, &Event::Trouble("port in use".into())));
            assert!(!is_news(&mut told, &ended(60)));
        }
    }

    #[test]
    fn a_film_of_an_earlier_training_is_not_one_of_this() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("film.webm");
        let film = FilmFile::new(path.clone());
        assert!(!film.is_new());
        fs::write(&path, "a film").unwrap();
        assert!(film.is_new());
        let film = FilmFile::new(path.clone());
        assert!(!film.is_new());
        let file = fs::File::options().append(true).open(&path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(film.is_new());
    }
}
