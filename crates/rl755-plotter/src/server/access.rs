//! Who may see the page: the token, and the names by which a browser may call this machine.
//!
//! A page of another site that is open in the same browser can send requests here, and by a name
//! of its own that it points at 127.0.0.1 it can even read the answers (DNS rebinding). So the
//! `Host` has to be one of ours, and a web socket has to come from our own page (`Origin`).

use std::{
    fmt::Write,
    fs::File,
    io::{self, Read},
    net::IpAddr,
};

/// What requests are checked against.
#[derive(Debug)]
pub(super) struct Access {
    bound: IpAddr,
    machine: String,
    token: Option<String>,
}

/// 128 random bits as 32 hexadecimal digits.
///
/// # Errors
/// When the system has no random numbers.
pub(crate) fn fresh_token() -> io::Result<String> {
    let mut bytes = [0_u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut token, byte| {
        // Writing to a string cannot fail.
        let _ = write!(token, "{byte:02x}");
        token
    }))
}

impl Access {
    /// Access to what listens at `bound`.
    pub(super) fn new(bound: IpAddr, token: Option<String>) -> Self {
        let machine = rustix::system::uname().nodename().to_string_lossy().to_ascii_lowercase();
        Self { bound, machine, token }
    }

    /// The address for people.
    pub(super) fn url(&self, port: u16) -> String {
        let host = match self.bound {
            ip if ip.is_unspecified() && !self.machine.is_empty() => self.machine.clone(),
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        match &self.token {
            Some(token) => format!("http://{host}:{port}/?token={token}"),
            None => format!("http://{host}:{port}/"),
        }
    }

    /// Whether the header `Host` names this machine. The port may be another one: `ssh -L` gives
    /// it any.
    pub(super) fn knows_host(&self, host: &str) -> bool {
        let Some(name) = without_port(host).map(str::to_ascii_lowercase) else { return false };
        if name == "localhost" || name.ends_with(".localhost") {
            return true;
        }
        let bare = name.strip_prefix('[').and_then(|n| n.strip_suffix(']')).unwrap_or(&name);
        if let Ok(ip) = bare.parse::<IpAddr>() {
            // An address cannot be pointed elsewhere.
            return ip.is_loopback() || ip == self.bound || self.bound.is_unspecified();
        }
        let first = |name: &str| name.split('.').next().map(str::to_owned);
        !self.bound.is_loopback()
            && !self.machine.is_empty()
            && first(&name) == first(&self.machine)
    }

    /// Whether the query of the address has the token, if one is needed.
    pub(super) fn admits(&self, query: Option<&str>) -> bool {
        let Some(token) = &self.token else { return true };
        let said = query.unwrap_or_default().split('&').find_map(|p| p.strip_prefix("token="));
        said.is_some_and(|said| same(said.as_bytes(), token.as_bytes()))
    }
}

/// Whether the page that opens a socket came from where it opens it.
pub(super) fn is_same_origin(origin: &str, host: &str) -> bool {
    let from = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    from.is_some_and(|from| from.eq_ignore_ascii_case(host))
}

/// Compares in a time that does not tell how much is right.
fn same(said: &[u8], token: &[u8]) -> bool {
    let differing = said.iter().zip(token).fold(0, |bits, (a, b)| bits | (a ^ b));
    said.len() == token.len() && std::hint::black_box(differing) == 0
}

/// The name in `name`, `name:port`, `[v6]` or `[v6]:port`.
fn without_port(host: &str) -> Option<&str> {
    let name_ends = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at(name_ends);
    let port = port.strip_prefix(':').unwrap_or(port);
    let sound = !name.is_empty() && port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit());
    sound.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "00112233445566778899aabbccddeeff";

    fn access(bound: &str) -> Access {
        Access {
            bound: bound.parse().unwrap(),
            machine: "node12.cluster".into(),
            token: Some(TOKEN.into()),
        }
    }

    #[test]
    fn only_names_of_this_machine_are_hosts() {
        let check = |bound: &str, host: &str, expected: bool| {
            assert_eq!(access(bound).knows_host(host), expected, "{host:?} at {bound}");
        };
        for bound in ["127.0.0.1", "::1", "0.0.0.0", "192.168.1.5"] {
            for ours in ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.0.0.1:1", "[::1]:6755"] {
                check(bound, ours, true);
            }
            for other in [
                "",
                ":",
                "evil.example",
                "localhost.evil.example",
                "127.0.0.1.evil.example",
                "localhost:80:80",
                "localhost:abc",
                "[::1",
                "[::1]x",
                "localhost:123456",
                "node12evil",
                "evil.node12",
                " localhost",
                "user@localhost",
            ] {
                check(bound, other, false);
            }
        }
        check("127.0.0.1", "192.168.1.5", false);
        check("127.0.0.1", "node12", false);
        check("192.168.1.5", "192.168.1.5:6755", true);
        check("192.168.1.5", "192.168.1.6:6755", false);
        check("192.168.1.5", "node12:6755", true);
        check("0.0.0.0", "10.1.2.3:6755", true);
        check("0.0.0.0", "Node12.cluster.example.org:6755", true);
        check("0.0.0.0", "node13:6755", false);
    }

    #[test]
    fn only_the_whole_token_is_right() {
        let check = |query: Option<&str>, expected: bool| {
            assert_eq!(access("0.0.0.0").admits(query), expected, "{query:?}");
        };
        check(Some(&format!("token={TOKEN}")), true);
        check(Some(&format!("a=b&token={TOKEN}&c")), true);
        check(None, false);
        check(Some(""), false);
        check(Some("token="), false);
        check(Some(&format!("token={}", &TOKEN[..31])), false);
        check(Some(&format!("token={TOKEN}0")), false);
        check(Some(&format!("token={}", TOKEN.to_uppercase())), false);
        check(Some(&format!("xtoken={TOKEN}")), false);
        check(Some(&format!("token=1&token={TOKEN}")), false);
        let open = Access { token: None, ..access("127.0.0.1") };
        assert!(open.admits(None));
    }

    #[test]
    fn an_origin_is_the_host_with_a_scheme() {
        let check = |origin: &str, host: &str, expected: bool| {
            assert_eq!(is_same_origin(origin, host), expected, "{origin:?} at {host:?}");
        };
        check("http://localhost:6755", "localhost:6755", true);
        check("https://node12:443", "node12:443", true);
        check("http://localhost:6756", "localhost:6755", false);
        check("http://evil.example", "localhost:6755", false);
        check("http://localhost:6755.evil.example", "localhost:6755", false);
        check("null", "localhost:6755", false);
        check("file://localhost:6755", "localhost:6755", false);
        check("", "", false);
    }

    #[test]
    fn the_address_for_people_can_be_opened() {
        assert_eq!(access("::1").url(6755), format!("http://[::1]:6755/?token={TOKEN}"));
        assert_eq!(access("0.0.0.0").url(1), format!("http://node12.cluster:1/?token={TOKEN}"));
        let open = Access { token: None, ..access("127.0.0.1") };
        assert_eq!(open.url(6755), "http://127.0.0.1:6755/");
    }

    #[test]
    fn tokens_are_128_bits_and_never_the_same() {
        let tokens = [fresh_token().unwrap(), fresh_token().unwrap()];
        assert_ne!(tokens[0], tokens[1]);
        assert!(tokens.iter().all(|t| t.len() == 32 && t.bytes().all(|b| b.is_ascii_hexdigit())));
    }
}
