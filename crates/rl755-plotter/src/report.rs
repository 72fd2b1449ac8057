//! What the worker tells the handle: lines of JSON on its standard output.

use std::io::{self, BufRead, Read, Write};

use serde::{Deserialize, Serialize};

/// No report is longer; troubles are cut.
const LONGEST: usize = 4096;
/// So many bytes that are no reports are overlooked: a program may greet on its standard output.
const MOST_NOISE: usize = 1 << 16;

/// A report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    /// The page is served.
    Ready {
        /// Where.
        url: String,
        /// Its port, which the next worker is to use as well.
        port: u16,
    },
    /// Something is amiss.
    Trouble(String),
}

impl Report {
    /// Writes it as a line, in one write.
    pub(crate) fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut line = match self {
            // Escapes make at most six bytes of one.
            Self::Trouble(text) if text.len() > LONGEST / 8 => {
                let cut: String = text.chars().take(LONGEST / 8).collect();
                serde_json::to_vec(&Self::Trouble(cut + "…"))?
            }
            report => serde_json::to_vec(report)?,
        };
        line.push(b'\n');
        to.write_all(&line)
    }
}

/// Reads reports until their end; if they are not read to the end, it says why.
pub(crate) fn read_reports(from: impl Read, mut on_report: impl FnMut(Report)) -> Option<String> {
    let mut from = io::BufReader::new(from);
    let mut noise = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut from).take(LONGEST as u64).read_until(b'\n', &mut line) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(format!("cannot be listened to: {error}")),
        }
        match serde_json::from_slice(&line) {
            Ok(report) => on_report(report),
            Err(_) => noise += line.len(),
        }
        if noise > MOST_NOISE {
            return Some(format!("wrote more than {MOST_NOISE} bytes that are no reports"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (Vec<Report>, Option<String>) {
        let mut reports = Vec::new();
        let end = read_reports(bytes, |report| reports.push(report));
        (reports, end)
    }

    #[test]
    fn reports_are_found_between_other_lines() {
        let ready = Report::Ready { url: "http://127.0.0.1:6755/".into(), port: 6755 };
        let trouble = Report::Trouble("no such\nenvironment".into());
        let mut bytes = b"hello\n\n{\"ready\":3}\n".to_vec();
        ready.write(&mut bytes).unwrap();
        bytes.extend(b"\xff\xfe\0 more\n");
        trouble.write(&mut bytes).unwrap();
        bytes.extend(b"{\"trouble\":\"cut");
        assert_eq!(read(&bytes), (vec![ready, trouble], None));
    }

    #[test]
    fn a_long_trouble_is_cut_and_read() {
        for text in ["\u{1}".repeat(100_000), "ä".repeat(100_000), "🦀".repeat(5_000)] {
            let mut bytes = Vec::new();
            Report::Trouble(text.clone()).write(&mut bytes).unwrap();
            let (reports, _) = read(&bytes);
            let [Report::Trouble(read)] = &reports[..] else { panic!("{reports:?}") };
            assert!(text.starts_with(read.trim_end_matches('…')));
        }
    }

    #[test]
    fn endless_noise_ends_the_reading() {
        let (reports, end) = read_once(io::repeat(b'x'));
        assert_eq!(reports, 0);
        assert_eq!(end.unwrap(), "wrote more than 65536 bytes that are no reports");
        assert!(read_once(io::repeat(b'\n')).1.unwrap().starts_with("wrote more"));
    }

    fn read_once(from: impl Read) -> (usize, Option<String>) {
        let mut count = 0;
        let end = read_reports(from, |_| count += 1);
        (count, end)
    }
}
