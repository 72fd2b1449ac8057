//! As much of a browser as a worker needs to see to play: a web socket.

use std::{
    io::{self, Read, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

/// Nothing takes longer.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Browser(TcpStream);

impl Browser {
    /// Opens the page at `url`, and looks at its first run.
    pub(crate) fn open(url: &str) -> Self {
        let mut browser = Self::connect(url);
        browser.say(r#"{"run":0}"#);
        browser
    }

    /// Opens the page at `url`, and looks at nothing yet.
    pub(crate) fn connect(url: &str) -> Self {
        Self::try_connect(url).unwrap()
    }

    /// As [`connect`](Self::connect), where the server may end at any time.
    pub(crate) fn try_connect(url: &str) -> io::Result<Self> {
        let host = url.strip_prefix("http://").unwrap().trim_end_matches('/');
        let mut stream = TcpStream::connect(host)?;
        stream.set_read_timeout(Some(LIMIT))?;
        let request = format!(
            "GET /socket HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            answer.push(byte[0]);
        }
        assert!(answer.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&answer));
        Ok(Self(stream))
    }

    /// Sends a short text, masked with zeros.
    pub(crate) fn say(&mut self, text: &str) {
        assert!(text.len() < 126);
        let mut frame = vec![0x81, 0x80 | text.len() as u8, 0, 0, 0, 0];
        frame.extend(text.as_bytes());
        self.send(&frame).unwrap();
    }

    /// Sends bytes, whether or not they are what a browser sends.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    /// The next message that is text and has this key: what is under it.
    pub(crate) fn find(&mut self, key: &str) -> Value {
        self.try_find(key).unwrap()
    }

    /// As [`find`](Self::find), where the server may end at any time.
    pub(crate) fn try_find(&mut self, key: &str) -> io::Result<Value> {
        loop {
            let (kind, payload) = self.next()?;
            if kind == 1
                && let Ok(Value::Object(mut message)) = serde_json::from_slice(&payload)
                && let Some(value) = message.remove(key)
            {
                return Ok(value);
            }
        }
    }

    /// The next status of which that is true.
    pub(crate) fn wait_for_status(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let status = self.find("status");
            if wanted(&status) {
                return status;
            }
        }
    }

    /// The next message: its kind (1 text, 2 binary) and payload.
    fn next(&mut self) -> io::Result<(u8, Vec<u8>)> {
        let mut head = [0; 2];
        self.0.read_exact(&mut head)?;
        let mut number = [0; 8];
        let length = match head[1] {
            126 => {
                self.0.read_exact(&mut number[6..])?;
                u64::from_be_bytes(number)
            }
            127 => {
                self.0.read_exact(&mut number)?;
                u64::from_be_bytes(number)
            }
            short => short.into(),
        };
        let mut payload = vec![0; length as usize];
        self.0.read_exact(&mut payload)?;
        Ok((head[0] & 0xf, payload))
    }
}
