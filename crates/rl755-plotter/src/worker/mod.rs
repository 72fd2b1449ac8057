//! What plays policies and serves the page, in a process of its own.
//!
//! One thread reads what the trainer sends ([`inbox`]), one plays each run ([`player`]), one films the
//! first ([`filmer`]), one looks after the runs' directories ([`run_watch`]), and one serves the page.
//! What they tell each other lies in the [`orders`] of each run, newest of each kind. The main thread
//! is left to the [`window`]: where a process opens windows, it must be there.

mod filmer;
mod inbox;
mod metrics_tail;
mod news;
mod orders;
mod picture;
mod play;
mod player;
mod run_watch;
mod screen;
mod series;
mod trouble;
mod window;

use std::{
    convert::Infallible,
    fs::File,
    io::{self, IsTerminal},
    os::fd::AsFd,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, Mutex, OnceLock, PoisonError, mpsc},
    thread,
};

use rl755_env::EnvRegistry;
use rustix::{process as system, stdio};

use crate::{
    ActorFactory, Event, ViewConfig,
    frame::{FrameError, FrameReader, Message, WorkerSettings},
    report::Report,
    server::{self, Server, ServerConfig, ServerError},
};
use filmer::Filmer;
pub(crate) use filmer::clear_temporaries;
pub use filmer::exit;
use inbox::read_all;
use orders::Orders;
use player::Player;
use run_watch::{RunWatch, watch};
use trouble::{catch, each_once};
use window::Stage;

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The page cannot be served.
    #[error("{0}")]
    Server(String),
    /// The process that started it does not speak as a [`Plotter`](crate::Plotter) does.
    #[error("what the plotter's worker is told makes no sense: {0}")]
    Told(String),
    /// The system refused something.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<ServerError> for WorkerError {
    fn from(error: ServerError) -> Self {
        Self::Server(error.to_string())
    }
}

impl From<FrameError> for WorkerError {
    fn from(error: FrameError) -> Self {
        Self::Told(error.to_string())
    }
}

/// The whole `main` of a worker: plays what a [`Plotter`](crate::Plotter) in another process sends
/// to the standard input, until that ends. A program calls it where its first argument is
/// [`WORKER_ARGUMENT`](crate::WORKER_ARGUMENT), before it does anything else.
pub fn worker_main(envs: &EnvRegistry, actors: &dyn ActorFactory) -> ExitCode {
    let Err(error) = work(envs, actors);
    eprintln!("{error}");
    ExitCode::FAILURE
}

/// Serves a page of the runs in [`ViewConfig::runs`], for ever; `on_event` is told its address, and
/// the troubles of the first run. It must be called in the main thread if there is to be a window.
/// [`exit`] ends it.
///
/// # Errors
/// When the page cannot be served.
pub fn serve_runs(
    view: &ViewConfig,
    envs: &EnvRegistry,
    actors: &dyn ActorFactory,
    on_event: impl Fn(Event) + Sync,
) -> Result<Infallible, WorkerError> {
    // One that was killed may have left something.
    view.video.iter().for_each(|film| clear_temporaries(film));
    let (server, runs) = open_page(view, None, None)?;
    if view.page {
        on_event(Event::Ready { url: server.url().to_owned(), process: std::process::id() });
    }
    let watches = others(view, &runs).collect();
    play_all(view, envs, actors, &runs, watches, |trouble| on_event(Event::Trouble(trouble.into())))
}

fn work(envs: &EnvRegistry, actors: &dyn ActorFactory) -> Result<Infallible, WorkerError> {
    if io::stdin().is_terminal() {
        return Err(WorkerError::Told("it is started by a plotter, not by people".into()));
    }
    end_with_parent()?;
    // An error means a system that has no priorities.
    let _ = system::setpriority_process(None, 19);
    let reports = Mutex::new(take_stdout()?);
    let report = |report: Report| {
        let mut to = reports.lock().unwrap_or_else(PoisonError::into_inner);
        // The trainer that does not read it has ended, and so does this.
        let _ = report.write(&mut *to);
    };
    let mut reader = FrameReader::new(io::stdin());
    let settings = match reader.next()? {
        Some(Message::Settings(settings)) => settings,
        Some(_) => return Err(WorkerError::Told("it begins without settings".into())),
        None => exit(0),
    };
    // It may have ended before this process asked to be told.
    if system::getppid().map(|p| p.as_raw_nonzero().get() as u32) != Some(settings.parent) {
        exit(0);
    }
    let WorkerSettings { run_dir, view, served, .. } = *settings;
    let (server, runs) = match open_page(&view, served, Some(run_dir.as_deref())) {
        Ok(page) => page,
        Err(error) => {
            report(Report::Trouble(error.to_string()));
            return Err(error);
        }
    };
    if view.page {
        report(Report::Ready { url: server.url().to_owned(), port: server.port() });
    }
    let own = Arc::clone(&runs[0]);
    thread::Builder::new().name("inbox".into()).spawn(move || {
        match read_all(&mut reader, &own) {
            // At once, whatever the others are doing; only a film is finished.
            Ok(()) => exit(0),
            Err(error) => {
                eprintln!("{}", WorkerError::from(error));
                exit(1);
            }
        }
    })?;
    let own = RunWatch::own(Arc::clone(&runs[0]), run_dir.as_deref());
    let watches = std::iter::once(own).chain(others(&view, &runs[1..])).collect();
    play_all(&view, envs, actors, &runs, watches, |trouble| report(Report::Trouble(trouble.into())))
}

/// Asks to be killed when the trainer ends, however it does; that works while this is stopped, too.
fn end_with_parent() -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    system::set_parent_process_death_signal(Some(system::Signal::KILL))?;
    Ok(())
}

/// The standard output, for reports only: what libraries print goes to the standard error.
fn take_stdout() -> io::Result<File> {
    let reports = io::stdout().as_fd().try_clone_to_owned()?;
    stdio::dup2_stdout(io::stderr())?;
    Ok(reports.into())
}

/// The page, at the port `served` if it can be, with its runs: the trainer's own one, if there is one,
/// and those of the view.
fn open_page(
    view: &ViewConfig,
    served: Option<u16>,
    own: Option<Option<&Path>>,
) -> Result<(Server, Vec<Arc<Orders>>), WorkerError> {
    let runs = Arc::new(OnceLock::<Vec<Arc<Orders>>>::new());
    let commanded = Arc::clone(&runs);
    let (address, port, token) = (view.address, view.port, view.token.clone());
    let on_command = move |run: usize, command| {
        if let Some(orders) = commanded.get().and_then(|runs| runs.get(run)) {
            orders.command(command);
        }
    };
    let server = match view.page {
        true => server::start(ServerConfig { address, served, port, token }, on_command)?,
        false => server::nowhere(),
    };
    let directories: Vec<_> =
        own.flatten().into_iter().chain(view.runs.iter().map(PathBuf::as_path)).collect();
    let nameless = matches!(own, Some(None)).then(|| "training".to_owned());
    let names = nameless.into_iter().chain(names_of(&directories));
    let orders = names.map(|name| Arc::new(Orders::new(server.add_run(&name), view))).collect();
    Ok((server, runs.get_or_init(|| orders).clone()))
}

/// Watches of the runs of the view.
fn others(view: &ViewConfig, runs: &[Arc<Orders>]) -> impl Iterator<Item = RunWatch> {
    runs.iter().zip(&view.runs).map(|(orders, run)| RunWatch::other(Arc::clone(orders), run))
}

/// The names of runs on the page: those of their directories, after as many of the directories above as
/// it takes to tell them apart.
fn names_of(directories: &[&Path]) -> impl Iterator<Item = String> {
    let end = |directory: &Path, parts: usize| -> PathBuf {
        let above = directory.components().count().saturating_sub(parts);
        directory.components().skip(above).collect()
    };
    directories.iter().map(move |directory| {
        let is_only = |parts: &usize| {
            let name = end(directory, *parts);
            directories.iter().filter(|other| end(other, *parts) == name).count() == 1
        };
        let most = directory.components().count();
        let parts = (1..most).find(is_only).unwrap_or(most);
        end(directory, parts).to_string_lossy().into_owned()
    })
}

/// Plays all runs and looks after their directories, for ever. The first run's troubles are told: its
/// player's and its filmer's apart, as each has the same over and over.
fn play_all(
    view: &ViewConfig,
    envs: &EnvRegistry,
    actors: &dyn ActorFactory,
    runs: &[Arc<Orders>],
    watches: Vec<RunWatch>,
    on_trouble: impl Fn(&str) + Sync,
) -> ! {
    let on_trouble = &on_trouble;
    let (wish, wishes) = mpsc::channel();
    let mut wish = view.window.then_some(wish);
    thread::scope(|scope| {
        scope.spawn(move || watch(watches, actors, view.video.is_some()));
        for (index, orders) in runs.iter().enumerate() {
            let window = wish.take().map(Stage::new);
            if window.is_some() {
                orders.set_window(true);
            }
            let player = move || Player::new(envs, actors, orders, view, window);
            let tell = each_once(move |trouble| {
                if index == 0 {
                    on_trouble(trouble);
                }
            });
            scope.spawn(move || player().run(tell));
        }
        if let Some((orders, file)) = runs.first().zip(view.video.as_deref()) {
            let filmer = move || Filmer::new(envs, actors, orders, view, file);
            scope.spawn(move || filmer().run(each_once(on_trouble)));
        }
        // Without a window there are no wishes.
        for (environment, states) in wishes {
            if let Err(trouble) = catch(|| Ok(actors.show_window(&environment, &states)?)) {
                on_trouble(&format!("the window: {trouble}"));
            }
            runs.iter().for_each(|orders| orders.set_window(false));
        }
        loop {
            thread::park();
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_called_what_tells_them_apart() {
        let check = |directories: &[&str], expected: &[&str]| {
            let directories: Vec<_> = directories.iter().map(Path::new).collect();
            assert_eq!(names_of(&directories).collect::<Vec<_>>(), expected);
        };
        check(&["runs/a", "/tmp/b/", "c/."], &["a", "b", "c"]);
        check(&["one/run", "two/run", "run", "other"], &["one/run", "two/run", "run", "other"]);
        check(&["a/x/run", "b/x/run"], &["a/x/run", "b/x/run"]);
        check(&["run", "run", ".", "/"], &["run", "run", ".", "/"]);
    }
}
