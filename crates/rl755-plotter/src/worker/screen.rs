//! What of an episode is sent to the page: poses of an environment in three dimensions, or its
//! picture, and what the actor makes of it.

use std::time::{Duration, Instant};

use rl755_env::{Env, EnvError, RgbFrame};

use super::picture;
use crate::{
    Actor,
    server::{Moment, Run, Shown},
};

/// Actors draw no oftener: they compute what they draw.
const ACTOR_PICTURES: Duration = Duration::from_millis(100);

/// The screen of one run and one environment.
pub(super) struct Screen {
    run: Run,
    environment: String,
    /// The names of the pictures; nothing before the first.
    views: Option<Vec<&'static str>>,
    poses: Vec<[f32; 7]>,
    shown: Option<Instant>,
    actor_drew: Option<Instant>,
}

impl Screen {
    pub(super) fn new(run: Run, environment: &str) -> Self {
        let environment = environment.to_owned();
        Self { run, environment, views: None, poses: Vec::new(), shown: None, actor_drew: None }
    }

    /// Shows the moment, unless it comes too soon after the one before.
    pub(super) fn show(
        &mut self,
        at: Moment,
        frames_per_second: f64,
        env: &mut dyn Env,
        actor: Option<&mut dyn Actor>,
    ) -> Result<(), EnvError> {
        let now = Instant::now();
        let interval = Duration::from_secs_f64(1.0 / frames_per_second);
        if !is_due(self.shown, interval, now) {
            return Ok(());
        }
        self.shown = Some(now);
        let is_3d = env.scene().is_some();
        let picture = if is_3d { None } else { env.render()? };
        let mut pictures: Vec<(&'static str, RgbFrame)> = Vec::new();
        if let Some(actor) = actor.filter(|_| is_due(self.actor_drew, ACTOR_PICTURES, now)) {
            pictures = actor.pictures();
            self.actor_drew = Some(now);
        }
        let own: Option<&'static str> = picture.is_some().then_some("environment");
        if self.views.is_none() {
            let views: Vec<_> = own.into_iter().chain(pictures.iter().map(|(n, _)| *n)).collect();
            self.run.show(&Shown {
                environment: self.environment.clone(),
                scene: env.scene().map(|scene| scene.scene().clone()),
                views: views.iter().map(|view| (*view).to_owned()).collect(),
            });
            self.views = Some(views);
        }
        if let Some(scene) = env.scene() {
            scene.poses(&mut self.poses);
            self.run.poses(at, &self.poses);
        }
        for (name, frame) in own.zip(picture).into_iter().chain(pictures) {
            let view = self.views.iter().flatten().position(|view| *view == name);
            if let Some((view, webp)) = view.zip(picture::webp(&frame)) {
                self.run.frame(at, view, &webp);
            }
        }
        Ok(())
    }
}

fn is_due(last: Option<Instant>, interval: Duration, now: Instant) -> bool {
    last.is_none_or(|last| now.duration_since(last) >= interval)
}
