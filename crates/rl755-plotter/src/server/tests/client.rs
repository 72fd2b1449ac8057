//! A server to test, and those who connect to it.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpStream},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{self, Message, WebSocket, client::IntoClientRequest};

use crate::server::{Command, Server, ServerConfig, start};

/// After so long an answer is missing; none takes more than milliseconds.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server on the loopback address, and what its browsers ask for.
pub(super) fn server(token: Option<&str>) -> (Server, Receiver<(usize, Command)>) {
    let (commands, asked) = mpsc::channel();
    let token = token.map(str::to_owned);
    let config = ServerConfig { address: Ipv4Addr::LOCALHOST.into(), served: None, port: 0, token };
    let server = start(config, move |run, command| {
        // The test may be over.
        let _ = commands.send((run, command));
    });
    (server.unwrap(), asked)
}

/// A connection to it.
pub(super) fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], server.port()))).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What it answers to these bytes until it hangs up; what it said before a reset counts.
pub(super) fn answer(server: &Server, request: &[u8]) -> Vec<u8> {
    let mut stream = connect(server);
    // It may have hung up before the end.
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// The status of the answer to a GET of `path` with these further headers.
pub(super) fn status(server: &Server, path: &str, host: &str, headers: &str) -> u16 {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n");
    status_of(&answer(server, request.as_bytes()))
}

/// The status in an answer; 0 where there is none.
pub(super) fn status_of(answer: &[u8]) -> u16 {
    let line = String::from_utf8_lossy(&answer[..answer.len().min(12)]).into_owned();
    line.strip_prefix("HTTP/1.1 ").and_then(|code| code.parse().ok()).unwrap_or_default()
}

/// Whether it still answers as it should.
pub(super) fn assert_serves(server: &Server) {
    assert_eq!(status(server, "/page.css", "localhost", ""), 200);
}

/// A browser's socket, after its handshake.
pub(super) struct Browser {
    pub(super) socket: WebSocket<TcpStream>,
}

impl Browser {
    /// Opens a socket as the page does.
    pub(super) fn open(server: &Server) -> Self {
        Self::try_open(server).unwrap()
    }

    /// As `open`, or the status of the refusal.
    pub(super) fn try_open(server: &Server) -> Result<Self, u16> {
        let address = format!("127.0.0.1:{}", server.port());
        let mut request = format!("ws://{address}/socket").into_client_request().unwrap();
        request.headers_mut().insert("origin", format!("http://{address}").parse().unwrap());
        match tungstenite::client(request, connect(server)) {
            Ok((socket, _)) => Ok(Self { socket }),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
                Err(answer.status().as_u16())
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Says something to the server.
    pub(super) fn say(&mut self, said: Value) {
        self.socket.send(Message::text(said.to_string())).unwrap();
    }

    /// The next message that is not a ping.
    pub(super) fn hear(&mut self) -> Message {
        loop {
            let message = self.socket.read().unwrap();
            if !message.is_ping() {
                return message;
            }
        }
    }

    /// What is said next under this name; everything else before it is passed over.
    pub(super) fn told(&mut self, name: &str) -> Value {
        loop {
            if let Message::Text(text) = self.hear() {
                let mut message: Value = serde_json::from_str(&text).unwrap();
                if !message[name].is_null() {
                    return message[name].take();
                }
            }
        }
    }

    /// The next poses or picture.
    pub(super) fn shown(&mut self) -> Vec<u8> {
        loop {
            if let Message::Binary(bytes) = self.hear() {
                return bytes.to_vec();
            }
        }
    }

    /// Looks at a run and waits until the server knows.
    pub(super) fn look_at(&mut self, run: usize) {
        self.say(json!({ "run": run }));
        assert_eq!(self.told("shown")["run"], run);
    }
}

/// The step in the header of a binary message.
pub(super) fn step_of(message: &[u8]) -> u32 {
    u32::from_le_bytes(message[8..12].try_into().unwrap())
}
