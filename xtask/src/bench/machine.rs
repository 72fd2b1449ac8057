//! What the figures were measured on, and when.

use std::{
    fs,
    process::{Command, Stdio},
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use super::rates::Usage;
use crate::workspace;

/// Cores that others may use without shifting the figures much.
const NOTICEABLE: f64 = 0.1;

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

/// Seconds of processor time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuTime {
    /// Of a program and the processes that it started.
    own: f64,
    /// Of all programs on all cores, and of what other virtual machines took away.
    all: f64,
}

impl CpuTime {
    /// As it is now for the program with this process id.
    pub(crate) fn now(process: u32) -> Option<Self> {
        let own = process_ticks(process)?;
        let all = busy_ticks(&fs::read_to_string("/proc/stat").ok()?)?;
        Some(Self { own: own as f64 / TICKS, all: all as f64 / TICKS })
    }

    /// Who used the processor since, over `seconds`.
    pub(crate) fn usage_until(self, end: Self, seconds: f64) -> Usage {
        let (own, all) = (end.own - self.own, end.all - self.all);
        // The two are not read at one instant.
        Usage { own: own / seconds, others: (all - own).max(0.0) / seconds }
    }
}

/// Linux gives processor time in hundredths of a second.
const TICKS: f64 = 100.0;

/// Processor time of a process and of all that descend from it.
fn process_ticks(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name before the parenthesis may contain spaces.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let own = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
    let children = children.unwrap_or_default();
    let children = children.split_whitespace().filter_map(|child| child.parse().ok());
    Some(own + children.filter_map(process_ticks).sum::<u64>())
}

/// Processor time spent at work: user, nice, system, irq, softirq, steal.
fn busy_ticks(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().filter_map(|tick| tick.parse().ok()).collect();
    [0, 1, 2, 5, 6, 7].iter().map(|&index| ticks.get(index)).sum()
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

/// How many cores others kept busy, round by round, in a line; nothing where that is not known.
pub(crate) fn others(rounds: &[f64]) -> String {
    if rounds.is_empty() {
        return String::new();
    }
    let cores = rounds.iter().sum::<f64>() / rounds.len() as f64;
    let warning = if cores < NOTICEABLE {
        ""
    } else {
        ": **rates are too low,\nand two cores cannot be compared with one**"
    };
    format!("Other programs kept {cores:.1} cores busy meanwhile{warning}.\n")
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
    fn processor_time_is_told_apart() {
        let stat = "cpu  100 10 50 9000 7 3 2 5 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n";
        assert_eq!(busy_ticks(stat), Some(170));
        let begin = CpuTime { own: 1.0, all: 10.0 };
        let usage = begin.usage_until(CpuTime { own: 4.0, all: 15.0 }, 2.0);
        assert_eq!(usage, Usage { own: 1.5, others: 1.0 });
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn our_own_processor_time_is_found() {
        let time = CpuTime::now(std::process::id()).unwrap();
        assert!(time.own <= time.all && time.all > 0.0, "{time:?}");
    }

    #[test]
    fn the_processor_is_named() {
        let text = "processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nprocessor\t: 1\n";
        assert_eq!(cpu_model(text).as_deref(), Some("Some CPU @ 2 GHz"));
        assert_eq!(cpu_model("Hardware : board"), None);
    }
}
