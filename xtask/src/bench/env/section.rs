//! The section of `docs/benchmarks.md` on environments: tables, bars, and how it was measured.

use super::{BARRED, Memory, Speed, Who};
use crate::{
    bench::report::{self, Bars, grouped, megabytes, table, times},
    python,
};

/// Least steps per second on one core.
const LEAST_RATE: f64 = 12_000.0;
/// Least ratio to EnvPool on one core.
const LEAST_OVER_ENVPOOL: f64 = 10.0;
/// Least ratio of two cores to one.
const LEAST_OVER_ONE_CORE: f64 = 1.9;
/// Most bytes per environment.
const MOST_BYTES: u64 = 1_000_000;

/// What was measured so far.
#[derive(Debug)]
pub(super) struct Section {
    rounds: u32,
    /// Cores that were at work for other programs, round by round.
    others: Vec<f64>,
    speed_rows: Vec<Vec<String>>,
    memory_rows: Vec<Vec<String>>,
    bars: Bars,
}

impl Section {
    /// Without results yet.
    pub(super) fn new(rounds: u32) -> Self {
        let (others, speed_rows, memory_rows) = (vec![], vec![], vec![]);
        Self { rounds, others, speed_rows, memory_rows, bars: Bars::default() }
    }

    /// Adds the programs' speeds in the environment `id`, and what they say of the bars.
    pub(super) fn add_speeds(&mut self, id: &str, speeds: Vec<Speed>) {
        let find = |who: Who, cores: usize| {
            speeds.iter().find(|speed| speed.who == who && speed.cores == cores)
        };
        for speed in &speeds {
            self.others.extend(speed.rounds.others());
            let (least, most) = speed.rounds.spread();
            // The first of ours is the one at its best.
            let ours = find(Who::Ours, speed.cores).filter(|_| speed.who != Who::Ours);
            let ratio = ours.map(|ours| times(ours.rounds.over(&speed.rounds)));
            self.speed_rows.push(vec![
                id.to_owned(),
                speed.who.name(),
                speed.cores.to_string(),
                speed.envs.to_string(),
                grouped(speed.rounds.median()),
                format!("{}–{}", grouped(least), grouped(most)),
                speed.rounds.cores_used().map(|used| format!("{used:.2}")).unwrap_or_default(),
                format!("{:.1}", speed.rounds.resets_per_thousand()),
                ratio.unwrap_or_default(),
            ]);
        }
        if id != BARRED {
            return;
        }
        let Some(ours) = find(Who::Ours, 1) else { return };
        let rate = ours.rounds.median();
        self.bars.add("steps/s on one core", "≥ 12,000", grouped(rate), rate >= LEAST_RATE);
        if let Some(envpool) = find(Who::EnvPool, 1) {
            let ratio = ours.rounds.over(&envpool.rounds);
            self.bars.add(
                "over EnvPool, one core",
                "≥ 10 ×",
                times(ratio),
                ratio >= LEAST_OVER_ENVPOOL,
            );
        }
        if let Some(two) = find(Who::Ours, 2)
            && let Some(one) = speeds
                .iter()
                .find(|speed| (speed.who, speed.cores, speed.envs) == (Who::Ours, 1, two.envs))
        {
            let ratio = two.rounds.over(&one.rounds);
            let what = format!("two cores over one, both with {} envs", two.envs);
            self.bars.add(&what, "≥ 1.9 ×", times(ratio), ratio >= LEAST_OVER_ONE_CORE);
        }
    }

    /// Adds what an environment takes, and what that says of the bar.
    pub(super) fn add_memory(&mut self, memory: Vec<Memory>) {
        for Memory { who, envs, bytes } in memory {
            self.memory_rows.push(vec![who.name(), envs.to_string(), megabytes(bytes)]);
            if who == Who::Ours {
                let met = bytes <= MOST_BYTES;
                self.bars.add("memory per environment", "≤ 1 MB", megabytes(bytes), met);
            }
        }
    }

    /// All of it in Markdown.
    pub(super) fn text(&self) -> String {
        let header = [
            "environment",
            "program",
            "cores",
            "envs",
            "steps/s",
            "least–most",
            "cores used",
            "resets per 1,000 steps",
            "rl755 over it",
        ];
        let mut text = format!("{}\n{}", self.introduction(), table(&header, &self.speed_rows, 2));
        text += &self.bars.text(BARRED);
        if !self.memory_rows.is_empty() {
            let header = [BARRED, "envs", "memory of each"];
            text += &format!(
                "\nMemory is how much a process's resident set grows with each environment that was \
                 reset and\nstepped 60 times, its observation included, after a first one.\n\n{}",
                table(&header, &self.memory_rows, 1)
            );
        }
        text
    }

    fn introduction(&self) -> String {
        let beside = format!(
            "EnvPool {}, Gymnasium {}, pygame {}, Box2D {}",
            python::ENVPOOL.version("envpool"),
            python::GYMNASIUM.version("gymnasium"),
            python::GYMNASIUM.version("pygame"),
            python::GYMNASIUM.version("box2d"),
        );
        report::introduction("cargo xtask bench env", &beside, &self.others, self.rounds)
            + "Random actions, in CarRacing each held for 8 steps; observations returned; ended \
               episodes reset\nwithin the time measured. `envs` are stepped together: on one core \
               as many as suit a program best,\nours also as many as on two. Gymnasium has one in a \
               process, and a process for each core.\nEnvPool's CarRacing looks different from \
               Gymnasium's, ours does not.\n"
    }
}

impl Who {
    fn name(self) -> String {
        match self {
            Self::Ours => "rl755",
            Self::EnvPool => "EnvPool",
            Self::Gymnasium => "Gymnasium",
        }
        .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::rates::{Round, Rounds, Usage};

    fn speed(who: Who, cores: usize, rate: u64) -> Speed {
        let usage = Some(Usage { own: 0.95, others: 0.25 });
        let rounds =
            Rounds(vec![Round { steps: rate, seconds: 1.0, resets: rate / 1000, usage }; 3]);
        Speed { who, cores, envs: 16, rounds }
    }

    fn section(id: &str, two_cores: u64) -> String {
        let mut section = Section::new(3);
        section.add_speeds(
            id,
            vec![
                speed(Who::Ours, 1, 20_000),
                speed(Who::EnvPool, 1, 1_600),
                speed(Who::Ours, 2, two_cores),
            ],
        );
        section.text()
    }

    fn line<'a>(text: &'a str, begin: &str) -> Vec<&'a str> {
        let line = text.lines().find(|line| line.starts_with(begin)).unwrap_or_default();
        line.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect()
    }

    #[test]
    fn speeds_and_bars_become_tables() {
        let text = section(BARRED, 38_000);
        let row = [BARRED, "EnvPool", "1", "16", "1,600", "1,600–1,600", "0.95", "0.6", "12.5 ×"];
        assert_eq!(line(&text, "| CarRacing-v3 | EnvPool"), row);
        assert!(text.contains("Other programs kept 0.2 cores busy"), "{text}");
        let bar = ["two cores over one, both with 16 envs", "≥ 1.9 ×", "1.90 ×", "yes"];
        assert_eq!(line(&text, "| two cores"), bar);
        assert_eq!(line(&section(BARRED, 37_000), "| two cores")[3], "no");
        assert!(line(&section("CartPole-v1", 38_000), "| two cores").is_empty());
    }

    #[test]
    fn memory_has_a_bar_for_ours() {
        let mut section = Section::new(1);
        section.add_memory(vec![
            Memory { who: Who::Ours, envs: 200, bytes: 1_000_001 },
            Memory { who: Who::EnvPool, envs: 50, bytes: 3_300_000 },
        ]);
        let text = section.text();
        assert_eq!(line(&text, "| memory per")[1..], ["≤ 1 MB", "1.00 MB", "no"]);
        assert_eq!(line(&text, "| EnvPool"), ["EnvPool", "50", "3.30 MB"]);
    }
}
