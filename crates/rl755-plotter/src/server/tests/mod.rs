//! The server as browsers and others meet it.

mod client;
mod demonstration;
mod hostile;
mod requests;
mod sockets;
