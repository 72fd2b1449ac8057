//! The section of `docs/benchmarks.md` on environments: tables, bars, and how it was measured.

use super::{CAR_RACING, Memory, SWIMMER, Speed, Who};
use crate::{
    bench::report::{self, Bars, grouped, megabytes, table, times},
    mujoco, python,
};

/// Least steps per second on one core.
const LEAST_RATE: f64 = 12_000.0;
/// Least ratio to EnvPool on one core.
const LEAST_OVER_ENVPOOL: f64 = 10.0;
/// Least ratio of two cores to one.
const LEAST_OVER_ONE_CORE: f64 = 1.9;
/// Least steps per second of Swimmer, twice what EnvPool gave where the bar was set; and of eight
/// together.
const SWIMMER_LEAST_ONE: f64 = 19_322.0;
const SWIMMER_LEAST_EIGHT: f64 = 19_791.0;
/// Least ratio to EnvPool with one Swimmer.
const SWIMMER_LEAST_OVER_ENVPOOL: f64 = 2.0;
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
    swimmer_bars: Bars,
}

impl Section {
    /// Without results yet.
    pub(super) fn new(rounds: u32) -> Self {
        let (others, speed_rows, memory_rows) = (vec![], vec![], vec![]);
        let (bars, swimmer_bars) = (Bars::default(), Bars::default());
        Self { rounds, others, speed_rows, memory_rows, bars, swimmer_bars }
    }

    /// Adds the programs' speeds in the environment `id`, and what they say of the bars.
    pub(super) fn add_speeds(&mut self, id: &str, speeds: Vec<Speed>) {
        let find = |who: Who, cores: usize| {
            speeds.iter().find(|speed| speed.who == who && speed.cores == cores)
        };
        for speed in &speeds {
            self.others.extend(speed.rounds.others());
            let (least, most) = speed.rounds.spread();
            // As many of ours, or else the first, which is the one at its best.
            let as_many = |ours: &&Speed| {
                (ours.who, ours.cores, ours.envs) == (Who::Ours, speed.cores, speed.envs)
            };
            let ours = speeds.iter().find(as_many).or_else(|| find(Who::Ours, speed.cores));
            let ours = ours.filter(|_| speed.who != Who::Ours);
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
        if id == SWIMMER {
            self.add_swimmer_bars(&speeds);
        }
        if id != CAR_RACING {
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

    fn add_swimmer_bars(&mut self, speeds: &[Speed]) {
        let find = |who: Who, envs: usize| {
            speeds.iter().find(|speed| (speed.who, speed.envs) == (who, envs))
        };
        let bars =
            [(1, SWIMMER_LEAST_ONE, SWIMMER_LEAST_OVER_ENVPOOL), (8, SWIMMER_LEAST_EIGHT, 1.0)];
        for (envs, least_rate, least_ratio) in bars {
            let Some(ours) = find(Who::Ours, envs) else { continue };
            let (rate, wanted) = (ours.rounds.median(), format!("≥ {}", grouped(least_rate)));
            let what = format!("steps/s of {envs} on one core");
            self.swimmer_bars.add(&what, &wanted, grouped(rate), rate >= least_rate);
            if let Some(envpool) = find(Who::EnvPool, envs) {
                let ratio = ours.rounds.over(&envpool.rounds);
                let (what, wanted) =
                    (format!("over EnvPool, {envs} on one core"), format!("≥ {least_ratio} ×"));
                self.swimmer_bars.add(&what, &wanted, times(ratio), ratio >= least_ratio);
            }
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
        text += &self.bars.text(CAR_RACING);
        text += &self.swimmer_bars.text(SWIMMER);
        if !self.memory_rows.is_empty() {
            let header = [CAR_RACING, "envs", "memory of each"];
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
            "EnvPool {}, Gymnasium {}, pygame {}, Box2D {}, MuJoCo {}",
            python::ENVPOOL.version("envpool"),
            python::GYMNASIUM.version("gymnasium"),
            python::GYMNASIUM.version("pygame"),
            python::GYMNASIUM.version("box2d"),
            mujoco::VERSION,
        );
        report::introduction("cargo xtask bench env", &beside, &self.others, self.rounds)
            + "Random actions, in CarRacing each held for 8 steps; observations returned; ended \
               episodes reset\nwithin the time measured. `envs` are stepped together: on one core \
               as many as suit a program best,\nours also as many as on two; of MuJoCo 1 and 8. \
               Gymnasium has one in a process, and a process for each core.\nEnvPool's CarRacing \
               looks different from Gymnasium's, ours does not.\n"
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
        let text = section(CAR_RACING, 38_000);
        let row =
            [CAR_RACING, "EnvPool", "1", "16", "1,600", "1,600–1,600", "0.95", "0.6", "12.5 ×"];
        assert_eq!(line(&text, "| CarRacing-v3 | EnvPool"), row);
        assert!(text.contains("Other programs kept 0.2 cores busy"), "{text}");
        let bar = ["two cores over one, both with 16 envs", "≥ 1.9 ×", "1.90 ×", "yes"];
        assert_eq!(line(&text, "| two cores"), bar);
        assert_eq!(line(&section(CAR_RACING, 37_000), "| two cores")[3], "no");
        assert!(line(&section("CartPole-v1", 38_000), "| two cores").is_empty());
    }

    #[test]
    fn swimmers_are_compared_with_as_many_of_envpool() {
        let of = |who: Who, envs: usize, rate: u64| Speed { envs, ..speed(who, 1, rate) };
        let mut section = Section::new(3);
        section.add_speeds(
            SWIMMER,
            vec![
                of(Who::Ours, 1, 30_000),
                of(Who::Ours, 8, 40_000),
                of(Who::EnvPool, 1, 16_000),
                of(Who::EnvPool, 8, 20_000),
            ],
        );
        let text = section.text();
        let bar = ["over EnvPool, 1 on one core", "≥ 2 ×", "1.88 ×", "no"];
        assert_eq!(line(&text, "| over EnvPool, 1"), bar);
        let bar = ["over EnvPool, 8 on one core", "≥ 1 ×", "2.00 ×", "yes"];
        assert_eq!(line(&text, "| over EnvPool, 8"), bar);
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
