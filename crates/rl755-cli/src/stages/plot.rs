//! `rl755-plot`.

use std::{net::IpAddr, path::PathBuf, thread};

use anyhow::bail;
use rl755_plotter::{ActorFactory, Event, ViewConfig, exit, serve_runs};
use rl755_run::Outcome;

use crate::{
    Desk, Plugins, Stage,
    actors::{Actors, newest},
    flag_values::steps,
    plot_flags::{port, speed, token},
    view_flags::ViewFlags,
};

/// Show runs on a page for browsers: their curves, and the newest policy of each as it plays
///
/// The runs are trained by other processes, on this machine or on another one with the same file system, or
/// are finished. Only checkpoints are seen; --plot of the trainings shows what is newer. Ctrl-C ends it.
#[derive(Clone, Debug, clap::Args)]
pub struct Plot {
    /// Directories that rl755-train-policy or rl755-train-controller writes, one tab each
    #[arg(value_name = "DIR", required = true)]
    runs: Vec<PathBuf>,
    /// The page's port [default: 6755 or the next free one]
    #[arg(long, value_name = "PORT", value_parser = port)]
    port: Option<u16>,
    /// The address that the page is served at [default: 127.0.0.1, which other machines do not reach;
    /// beyond that, browsers need a token, which is part of the address that is printed]
    #[arg(long, value_name = "IP")]
    address: Option<IpAddr>,
    /// The token that browsers need [default: none on 127.0.0.1, else a random one]
    #[arg(long, value_name = "TEXT", value_parser = token)]
    token: Option<String>,
    /// How many times as fast as real time episodes are played, from 0.1 to 100 [default: 5]
    #[arg(long, value_name = "F", value_parser = speed)]
    speed: Option<f64>,
    /// Steps after which an episode is broken off [default: the environment's own limit]
    #[arg(long, value_name = "N", value_parser = steps)]
    max_steps: Option<u32>,
    #[command(flatten)]
    view: ViewFlags,
}

impl Stage for Plot {
    const NAME: &'static str = "rl755-plot";
    const UNIT: &'static str = "";

    fn run(self, plugins: &Plugins, desk: &Desk) -> anyhow::Result<Outcome> {
        if self.view.is_some() && self.runs.len() > 1 {
            bail!("--video and --window are of one run, not of {}", self.runs.len());
        }
        let actors = Actors::new(plugins);
        for run in &self.runs {
            // A slip of the finger is told here rather than on the page.
            newest(run)?;
            if self.view.is_some()
                && let Some(saved) = actors.of_run(run, None)?
            {
                self.view.check(&plugins.environments, &saved.subject.environment)?;
            }
        }
        let default = ViewConfig::default();
        let view = ViewConfig {
            port: self.port.unwrap_or(default.port),
            address: self.address.unwrap_or(default.address),
            token: self.token,
            speed_up: self.speed.unwrap_or(default.speed_up),
            max_episode_steps: self.max_steps,
            runs: self.runs,
            window: self.view.window,
            video: self.view.video,
            ..default
        };
        let interrupt = desk.interrupt.clone();
        // Serving has no end of its own, and leaves nothing that would have to be finished.
        thread::Builder::new().name("interrupt".into()).spawn(move || {
            interrupt.wait();
            exit(130)
        })?;
        let tell = |event: Event| {
            if let Event::Ready { .. } = event {
                // Where nobody reads it, the page is served all the same.
                let _ = desk.print(&event.to_string());
            } else {
                desk.progress.line(&event.to_string());
            }
        };
        match serve_runs(&view, &plugins.environments, &actors, tell) {
            Err(error) => Err(error.into()),
            Ok(never) => match never {},
        }
    }
}
