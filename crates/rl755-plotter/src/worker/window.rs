//! What a window is told: where the bodies are.

use std::sync::mpsc::{Receiver, Sender, SyncSender, sync_channel};

use rl755_env::Env;

/// A window that is to be opened: its environment, and the states that it shows.
pub(super) type Wish = (String, Receiver<Vec<f64>>);

/// Where the player shows states to a window.
pub(super) struct Stage {
    main_thread: Sender<Wish>,
    /// Its environment; nothing can be sent once it is closed.
    opened: Option<(String, Option<SyncSender<Vec<f64>>>)>,
}

impl Stage {
    /// The main thread opens the window: it must be the one.
    pub(super) fn new(main_thread: Sender<Wish>) -> Self {
        Self { main_thread, opened: None }
    }

    /// Shows the state that `env` is in. The first one opens the window; it closes where the
    /// environment becomes another one, as a process can open one only.
    pub(super) fn show(&mut self, environment: &str, env: &dyn Env) {
        let (shown, states) = self.opened.get_or_insert_with(|| {
            let (states, receiver) = sync_channel(2);
            // Where nobody takes it, there is no window.
            let _ = self.main_thread.send((environment.to_owned(), receiver));
            (environment.to_owned(), Some(states))
        });
        if shown != environment {
            *states = None;
        }
        if let (Some(states), Some(scene)) = (states, env.scene()) {
            // One that is busy, or closed, does without.
            let _ = states.try_send(scene.physics_state());
        }
    }
}
