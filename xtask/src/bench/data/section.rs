//! The section of `docs/benchmarks.md` on datasets: tables, bars, and how it was measured.

use super::{
    Program, ROLLOUTS, STEPS, Speed, Task,
    programs::{Memory, Stored},
};
use crate::{
    bench::report::{self, Bars, grouped, megabytes, table, times},
    python,
};

/// Least bytes per second that are verified on two cores, or as many as reading alone reaches.
const LEAST_VERIFIED: f64 = 5e9;
/// As fast as reading alone, within what rounds differ by.
const AS_FAST_AS_READING: f64 = 0.95;
/// Least ratio to TensorFlow's fastest way of sampling.
const LEAST_OVER_TENSORFLOW: f64 = 4.0;
/// Most time that collecting takes, in times of that of stepping.
const MOST_TIME_COLLECTING: f64 = 1.8;
/// Most bytes of a frame on disk.
const MOST_BYTES_OF_FRAME: f64 = 2500.0;
/// Most growth of a reader after the first tenth of an epoch ...
const MOST_GROWTH: f64 = 1.05;
/// ... of a dataset of 20 GB, which may lack a little.
const LEAST_READ: u64 = 19_500_000_000;

/// What was measured so far.
#[derive(Debug)]
pub(super) struct Section {
    rounds: u32,
    stored: Stored,
    /// Cores that were at work for other programs, round by round.
    others: Vec<f64>,
    rows: Vec<Vec<String>>,
    memory: Option<Memory>,
    bars: Bars,
}

impl Section {
    /// Without results but for the dataset's size.
    pub(super) fn new(rounds: u32, stored: Stored) -> Self {
        let mut section = Self {
            rounds,
            stored,
            others: Vec::new(),
            rows: Vec::new(),
            memory: None,
            bars: Bars::default(),
        };
        let bytes = stored.bytes as f64 / stored.frames as f64;
        let measured = format!("{} bytes", grouped(bytes));
        section.bars.add(
            "a frame of CarRacing on disk",
            "≤ 2,500 bytes",
            measured,
            bytes <= MOST_BYTES_OF_FRAME,
        );
        section
    }

    /// Adds the speeds of a task on some cores, and what they say of the bars.
    pub(super) fn add_speeds(&mut self, task: Task, speeds: &[Speed]) {
        let Some((first, others)) = speeds.split_first() else { return };
        for speed in speeds {
            self.others.extend(speed.rounds.others());
            let (least, most) = speed.rounds.spread();
            let number = |rate: f64| match task {
                Task::Verify => format!("{:.2}", rate / 1e9),
                _ => grouped(rate),
            };
            let unit = if task == Task::Verify { "GB/s" } else { "frames/s" };
            let is_first = speed.program == first.program;
            self.rows.push(vec![
                task.title().to_owned(),
                speed.program.title().to_owned(),
                speed.cores.to_string(),
                format!("{} {unit}", number(speed.rounds.median())),
                format!("{}–{}", number(least), number(most)),
                speed.rounds.cores_used().map(|used| format!("{used:.2}")).unwrap_or_default(),
                if is_first { String::new() } else { times(first.rounds.over(&speed.rounds)) },
            ]);
        }
        let cores =
            if first.cores == 1 { "1 core".to_owned() } else { format!("{} cores", first.cores) };
        match task {
            Task::Verify if first.cores == 2 => {
                let (rate, of_reading) =
                    (first.rounds.median(), first.rounds.over(&others[0].rounds));
                let measured = format!("{:.2} GB/s, {} of reading", rate / 1e9, times(of_reading));
                let met = rate >= LEAST_VERIFIED || of_reading >= AS_FAST_AS_READING;
                self.bars.add("verify, 2 cores", "≥ 5 GB/s, or reading alone", measured, met);
            }
            Task::SamplePng | Task::SampleTensor => {
                let ratios = others.iter().map(|peer| first.rounds.over(&peer.rounds));
                let ratio = ratios.fold(f64::INFINITY, f64::min);
                let what = format!("{} over TensorFlow's fastest", task.title());
                self.bars.add(&what, "≥ 4 ×", times(ratio), ratio >= LEAST_OVER_TENSORFLOW);
            }
            Task::Collect => {
                let ratio = others[0].rounds.over(&first.rounds);
                let what = format!("time of collecting over stepping alone, {cores}");
                self.bars.add(&what, "≤ 1.8 ×", times(ratio), ratio <= MOST_TIME_COLLECTING);
            }
            _ => {}
        }
    }

    /// Adds the memory of a reader, and what that says of the bar.
    pub(super) fn add_memory(&mut self, memory: Memory) {
        let measured = format!("{} of {}", megabytes(memory.all), megabytes(memory.tenth));
        let flat = memory.all as f64 <= MOST_GROWTH * memory.tenth as f64;
        let what = format!(
            "memory of a reader of {:.1} GB, all of an epoch to a tenth",
            memory.bytes as f64 / 1e9
        );
        let met = flat && memory.bytes >= LEAST_READ;
        self.bars.add(&what, "flat, of 20 GB", measured, met);
        self.memory = Some(memory);
    }

    /// All of it in Markdown.
    pub(super) fn text(&self) -> String {
        let header =
            ["task", "program", "cores", "rate", "least–most", "cores used", "the first over it"];
        let mut text = format!("{}\n{}", self.introduction(), table(&header, &self.rows, 2));
        text += &self.bars.text("bar");
        if let Some(memory) = self.memory {
            text += &format!(
                "\nA reader sampled an epoch of {rollouts} rollouts with {frames} frames, {bytes:.1} \
                 GB, in batches of\n256 with the default shuffle buffer; the process had at most \
                 {tenth} in memory until a\ntenth of it, {all} in all.\n",
                rollouts = grouped(memory.rollouts as f64),
                frames = grouped(memory.frames as f64),
                bytes = memory.bytes as f64 / 1e9,
                tenth = megabytes(memory.tenth),
                all = megabytes(memory.all),
            );
        }
        text
    }

    fn introduction(&self) -> String {
        let beside = format!("TensorFlow {}", python::TENSORFLOW.version("tensorflow-cpu"));
        let mut text =
            report::introduction("cargo xtask bench data", &beside, &self.others, self.rounds);
        text += &format!(
            "The datasets are {ROLLOUTS} rollouts of CarRacing with up to {STEPS} frames each \
             ({bytes:.0} MB as PNG), and a fifth\nof them as tensors, all in the page cache. Written \
             are rollouts of 200 frames, ours synced to disk,\nTensorFlow's not. TensorFlow \
             verifies framing and checksums alone, ours what is in the records, too.\nSampled are \
             100 random frames of a rollout at a time, decoded, as floats in [0, 1]. Collecting and\n\
             stepping are of the same rollouts: the policy `smooth`, the same seeds, 500 steps.\n",
            bytes = self.stored.bytes as f64 / 1e6,
        );
        text
    }
}

impl Program {
    fn title(self) -> &'static str {
        let (Self::Ours(_, title) | Self::TensorFlow(_, title)) = self;
        title
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::rates::{Round, Rounds, Usage};

    /// Speeds of the programs of `task`, in their order.
    fn speeds(task: Task, cores: usize, rates: &[u64]) -> Vec<Speed> {
        let usage = Some(Usage { own: 1.9, others: 0.0 });
        let rounds =
            |&steps: &u64| Rounds(vec![Round { steps, seconds: 1.0, resets: 0, usage }; 3]);
        let programs = task.programs().iter().zip(rates);
        programs.map(|(&program, rate)| Speed { program, cores, rounds: rounds(rate) }).collect()
    }

    fn section() -> Section {
        Section::new(3, Stored { frames: 1000, bytes: 2_400_000 })
    }

    fn bar(section: &Section, begin: &str) -> [String; 2] {
        let text = section.bars.text("bar");
        let line = text.lines().find(|line| line.starts_with(&format!("| {begin}"))).unwrap();
        let cells: Vec<&str> = line.trim_end_matches(" |").rsplit(" | ").map(str::trim).collect();
        [cells[1].to_owned(), cells[0].to_owned()]
    }

    #[test]
    fn the_fastest_way_of_the_peer_counts() {
        let mut section = section();
        section.add_speeds(
            Task::SamplePng,
            &speeds(Task::SamplePng, 2, &[40_000, 8_000, 9_000, 12_000]),
        );
        assert_eq!(bar(&section, "sample PNG"), ["3.33 ×", "no"]);
        let text = section.text();
        assert!(text.contains("| 12,000 frames/s | 12,000–12,000 |"), "{text}");
        assert!(text.contains("Other programs kept 0.0 cores busy"), "{text}");
    }

    #[test]
    fn verifying_is_fast_enough_where_reading_alone_is_no_faster() {
        let gigabyte = 1_000_000_000;
        for (ours, reading, met) in [(5, 9, "yes"), (4, 9, "no"), (4, 4, "yes")] {
            let mut section = section();
            let rates = [ours * gigabyte, reading * gigabyte, gigabyte];
            section.add_speeds(Task::Verify, &speeds(Task::Verify, 1, &rates));
            section.add_speeds(Task::Verify, &speeds(Task::Verify, 2, &rates));
            assert_eq!(bar(&section, "verify")[1], met, "{ours} {reading}");
        }
    }

    #[test]
    fn collecting_sizes_and_memory_have_bars() {
        let mut section = section();
        section.add_speeds(Task::Collect, &speeds(Task::Collect, 1, &[10_000, 20_000]));
        assert_eq!(bar(&section, "time of collecting over stepping alone, 1"), ["2.00 ×", "no"]);
        assert_eq!(bar(&section, "a frame"), ["2,400 bytes", "yes"]);
        let (bytes, rollouts, frames) = (20_000_000_000, 10_000, 8_000_000);
        let (tenth, all) = (100_000_000, 101_000_000);
        section.add_memory(Memory { bytes, rollouts, frames, tenth, all });
        let reader = "memory of a reader of 20.0 GB";
        assert_eq!(bar(&section, reader), ["101 MB of 100 MB", "yes"]);
        assert!(section.text().contains("10,000 rollouts with 8,000,000 frames, 20.0 GB"));
        section.add_memory(Memory { bytes: 400_000_000, rollouts, frames, tenth, all });
        assert_eq!(bar(&section, "memory of a reader of 0.4 GB")[1], "no", "too small to tell");
    }
}
