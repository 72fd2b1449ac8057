//! The page's server: its own thread, its own few files, one web socket per browser.
//!
//! It speaks HTTP/1.1 on one port, by default of the loopback address. The only routes are the
//! page's files, which are part of this program, and `/socket`; nothing is read from disk. What
//! browsers are shown lies in the [`hub`], where only the newest of each kind is kept, so that
//! neither a slow browser nor a fast worker makes anything grow or wait.

mod access;
mod connection;
mod files;
mod hub;
mod message;
mod socket;
#[cfg(test)]
mod tests;

use std::{
    io,
    net::{IpAddr, SocketAddr, TcpListener},
    sync::Arc,
    thread::{self, JoinHandle},
};

use tokio::sync::oneshot;

use access::Access;
pub(crate) use access::fresh_token;
use hub::Hub;
pub(crate) use hub::{Command, Curve, Moment, Run, Shown, Snapshot, Status};

/// The port that is tried first when none is asked for.
const USUAL_PORT: u16 = 6755;
/// How many ports after it are tried.
const MORE_PORTS: u16 = 64;

/// Where the page is served, and to whom.
#[derive(Clone, Debug)]
pub(crate) struct ServerConfig {
    /// Loopback, unless the user says otherwise.
    pub(crate) address: IpAddr,
    /// Where browsers look for the page: tried before `port`.
    pub(crate) served: Option<u16>,
    /// 0 takes 6755 or the next free one.
    pub(crate) port: u16,
    /// What a browser has to say in the address. Without one the loopback address asks for
    /// nothing, and others make one up.
    pub(crate) token: Option<String>,
}

/// The page cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ServerError {
    /// Another program has the port, or the address is not of this machine.
    #[error("the page cannot be served on {address}: {source}")]
    Bind {
        /// Where it was to be.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// No thread, no random numbers, or the like.
    #[error("the page cannot be served: {0}")]
    System(#[from] io::Error),
}

/// A running server; it ends, and its port is free, when this is dropped.
pub(crate) struct Server {
    url: String,
    port: u16,
    hub: Arc<Hub>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// What to open in a browser, with the token where one is needed.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The port it got.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Shows one more run on the page.
    pub(crate) fn add_run(&self, name: &str) -> Run {
        Hub::add_run(&self.hub, name)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in it has been reported by the panic hook; there is nothing left to stop.
            let _ = thread.join();
        }
    }
}

/// A server that serves nothing: runs that no browser sees.
pub(crate) fn nowhere() -> Server {
    let (url, hub) = (String::new(), Arc::new(Hub::new(|_, _| {})));
    Server { url, port: 0, hub, stop: None, thread: None }
}

/// Serves the page until the server is dropped.
///
/// `on_command` is told what browsers ask for, with the index of the run, from the server's
/// thread: it has to return at once.
///
/// # Errors
/// When the address cannot be had.
pub(crate) fn start(
    config: ServerConfig,
    on_command: impl Fn(usize, Command) + Send + Sync + 'static,
) -> Result<Server, ServerError> {
    let listener = listen(&config)?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    // An empty one keeps nobody out.
    let token = match config.token.filter(|token| !token.is_empty()) {
        None if !config.address.is_loopback() => Some(fresh_token()?),
        token => token,
    };
    let access = Access::new(config.address, token);
    let url = access.url(port);
    let hub = Arc::new(Hub::new(on_command));
    let (stop, stopped) = oneshot::channel();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = Arc::clone(&hub);
    let thread = thread::Builder::new().name("plotter-server".into()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                () = connection::accept(listener, served, access) => (),
                _ = stopped => (),
            }
        });
        // Ends what connections are still doing, wherever they are.
        runtime.shutdown_background();
    })?;
    Ok(Server { url, port, hub, stop: Some(stop), thread: Some(thread) })
}

/// Where the page was served, else the port asked for, or for 0 the usual one or the next that is free.
fn listen(config: &ServerConfig) -> Result<TcpListener, ServerError> {
    let ServerConfig { address, served, port, .. } = *config;
    let usual = (port == 0).then_some(USUAL_PORT..=USUAL_PORT + MORE_PORTS);
    // If none of those is free, the system finds one for 0.
    let ports = served.into_iter().chain(usual.into_iter().flatten()).chain([port]);
    let mut failure = None;
    for port in ports {
        let address = SocketAddr::new(address, port);
        match TcpListener::bind(address) {
            Ok(listener) => return Ok(listener),
            Err(source) => {
                let busy = source.kind() == io::ErrorKind::AddrInUse;
                failure.get_or_insert(ServerError::Bind { address, source });
                if !busy {
                    break;
                }
            }
        }
    }
    Err(failure.unwrap_or_else(|| io::Error::from(io::ErrorKind::AddrInUse).into()))
}
