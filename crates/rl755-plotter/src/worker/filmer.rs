//! Films the newest policy of a run: one episode, in a file that is replaced by the next film.
//!
//! It plays by itself, as fast as it can, so that neither its drawing keeps the page waiting nor a
//! pause on the page the film.

use std::{
    path::Path,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rl755_env::EnvRegistry;
use rl755_run::{AtomicFile, derive_seed, directory_of};
use rl755_video::Film;

use super::{
    news::News,
    orders::Orders,
    play::Play,
    trouble::{Trouble, catch},
};
use crate::{ActorFactory, ViewConfig};

/// About as many pictures a second of the film; as long as films are cut off, half of it each time.
const FIRST_RATE: f64 = 30.0;
/// No fewer.
const LAST_RATE: f64 = 7.5;
/// No film is longer, in seconds.
const LONGEST: f64 = 60.0;
/// What is not filmed after so long is cut off, so that there soon is a film also where drawing takes
/// long, as MuJoCo's does without a graphics card. The next one may take twice as long.
const FIRST_PATIENCE: Duration = Duration::from_secs(2);
/// No film takes longer.
const LAST_PATIENCE: Duration = Duration::from_secs(60);
/// At least so long nothing is filmed after a film, and at least as long as that took.
const REST: Duration = Duration::from_secs(1);

/// Held while the file is written.
static WRITING: Mutex<()> = Mutex::new(());

/// Ends the process, after the film that is being written, so that nothing is left of it but the
/// film.
pub fn exit(code: i32) -> ! {
    let _whole = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    std::process::exit(code)
}

/// Removes what is left of a film by workers that were killed. None may be at work.
pub(crate) fn clear_temporaries(film: &Path) {
    let name = film.file_name().and_then(|name| name.to_str());
    // What cannot be removed is removed the next time, or not in anybody's way.
    let _ = AtomicFile::clear_temporaries(directory_of(film), |target| Some(target) == name);
}

/// The filmer of one run.
pub(super) struct Filmer<'a> {
    envs: &'a EnvRegistry,
    actors: &'a dyn ActorFactory,
    orders: &'a Orders,
    file: &'a Path,
    max_episode_steps: u32,
    known: News,
    play: Option<Play>,
    /// Whether the last film was cut off, and the next can show more.
    again: bool,
    /// How long the next film may take.
    patience: Duration,
    /// Its pictures a second.
    rate: f64,
    /// Counts the films.
    films: u64,
}

impl<'a> Filmer<'a> {
    pub(super) fn new(
        envs: &'a EnvRegistry,
        actors: &'a dyn ActorFactory,
        orders: &'a Orders,
        view: &ViewConfig,
        file: &'a Path,
    ) -> Self {
        Self {
            envs,
            actors,
            orders,
            file,
            max_episode_steps: view.max_episode_steps(),
            known: News::default(),
            play: None,
            again: false,
            patience: FIRST_PATIENCE,
            rate: FIRST_RATE,
            films: 0,
        }
    }

    /// Films an episode of the newest policy whenever there is a newer one or it can show more, for
    /// ever.
    pub(super) fn run(mut self, mut on_trouble: impl FnMut(&str)) -> ! {
        loop {
            if self.known.update(self.orders.wait_to_film(self.again)) {
                self.play = None;
            }
            let began = Instant::now();
            if let Err(trouble) = catch(|| self.film_one()) {
                on_trouble(&format!("the film: {trouble}"));
                // Whatever state it is in, it is made anew.
                self.play = None;
            }
            // So that films take half of the time at most, however slowly they are drawn.
            thread::sleep(began.elapsed().max(REST));
        }
    }

    fn film_one(&mut self) -> Result<(), Trouble> {
        let News { subject: Some(subject), snapshot: Some(snapshot) } = &self.known else {
            return Ok(());
        };
        let play = match &mut self.play {
            Some(play) => play,
            empty => empty.insert(Play::new(self.envs, self.actors, subject)?),
        };
        self.films += 1;
        self.again = false;
        play.begin(snapshot, derive_seed(snapshot.step, "filmed episode", self.films))?;
        let mut film = Film::new(&*play.env).thinned(self.rate);
        let began = Instant::now();
        film.add(|| play.env.render(), play.observation.as_ref());
        for _ in 0..self.max_episode_steps {
            play.act()?;
            let step = play.step()?;
            film.add(|| play.env.render(), play.observation.as_ref());
            if step.done() || film.seconds() >= LONGEST {
                break;
            }
            if began.elapsed() >= self.patience {
                self.again = self.patience < LAST_PATIENCE;
                self.patience = (2 * self.patience).min(LAST_PATIENCE);
                self.rate = (self.rate / 2.0).max(LAST_RATE);
                break;
            }
        }
        let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(film.write(self.file)?)
    }
}
