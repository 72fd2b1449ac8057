//! The server as browsers and others meet it.

mod client;
mod hostile;
mod requests;
mod sockets;
mod swimmer;
