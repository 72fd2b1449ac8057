//! What the figures were measured on, and when.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::workspace;

/// The processor, the cores that we may use, and the operating system.
pub(crate) fn description() -> String {
    let model = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| cpu_model(&text));
    let model = model.unwrap_or_else(|| "unknown processor".to_owned());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let cores = if cores == 1 { "1 core".to_owned() } else { format!("{cores} cores") };
    format!("{model}, {cores}, {} {}", std::env::consts::OS, std::env::consts::ARCH)
}

/// The name that Linux gives the first processor.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// How many programs wanted to run over the last minute, as Linux counts them.
pub(crate) fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// The first `count` cores that this process may use; none where there are fewer, or no `taskset`
/// to hold a program to them.
pub(crate) fn cores(count: usize) -> Option<Vec<usize>> {
    let mut taskset = Command::new("taskset");
    taskset.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    taskset.status().ok().filter(std::process::ExitStatus::success)?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let cores = core_list(list.trim())?;
    cores.get(..count).map(<[usize]>::to_vec)
}

/// Reads `0-3,8`.
fn core_list(list: &str) -> Option<Vec<usize>> {
    let mut cores = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cores.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(cores)
}

/// The commit that is checked out, abbreviated.
pub(crate) fn commit() -> Option<String> {
    let mut git = Command::new("git");
    git.args(["rev-parse", "--short", "HEAD"]).current_dir(workspace::root());
    let output = git.stderr(Stdio::null()).output().ok()?;
    let commit = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| commit.trim().to_owned())
}

/// Today in UTC, as 2026-01-31.
pub(crate) fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    date(seconds / 86_400)
}

/// The date `days` after 1970-01-01, in the Gregorian calendar.
fn date(days: u64) -> String {
    // Years begin in March, so that the leap day is a year's last.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) =
        (era * 400 + year + u64::from(month > 9), if month > 9 { month - 9 } else { month + 3 });
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        for (days, expected) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (19_782, "2024-02-29"),
            (19_783, "2024-03-01"),
            (20_819, "2027-01-01"),
        ] {
            assert_eq!(date(days), expected, "{days}");
        }
    }

    #[test]
    fn lists_of_cores_are_read_as_linux_writes_them() {
        assert_eq!(core_list("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(core_list("3"), Some(vec![3]));
        assert_eq!(core_list(""), None);
    }

    #[test]
    fn the_processor_is_named() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nprocessor\t: 1\n";
        assert_eq!(cpu_model(text).as_deref(), Some("Some CPU @ 2 GHz"));
        assert_eq!(cpu_model("Hardware : board"), None);
    }
}
