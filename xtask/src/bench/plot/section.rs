//! The section of `docs/benchmarks.md` on the plotter.

use super::{Watched, training::Measured};
use crate::bench::{
    machine,
    rates::median,
    report::{Bars, table},
};

/// What was measured so far.
#[derive(Debug)]
pub(super) struct Section {
    rounds: u32,
    iterations: u32,
    cores: usize,
    /// Cores that were at work for other programs, training by training.
    others: Vec<f64>,
    rows: Vec<Vec<String>>,
    bars: Bars,
}

/// How much longer trainings took than those of the same rounds without.
struct Longer {
    median: f64,
    /// The standard error of the mean.
    error: f64,
}

impl Longer {
    fn of(watched: &[Measured], plain: &[Measured]) -> Self {
        let ratios: Vec<f64> =
            watched.iter().zip(plain).map(|(w, p)| w.seconds / p.seconds - 1.0).collect();
        let count = ratios.len() as f64;
        let mean = ratios.iter().sum::<f64>() / count;
        let squares: f64 = ratios.iter().map(|ratio| (ratio - mean).powi(2)).sum();
        let error = (squares / (count - 1.0).max(1.0) / count).sqrt();
        Self { median: median(ratios), error }
    }

    fn text(&self) -> String {
        format!("{:+.1}% ± {:.1}", 100.0 * self.median, 100.0 * self.error)
    }
}

impl Section {
    /// Without results.
    pub(super) fn new(rounds: u32, iterations: u32, cores: usize) -> Self {
        let (others, rows, bars) = (Vec::new(), Vec::new(), Bars::default());
        Self { rounds, iterations, cores, others, rows, bars }
    }

    /// Adds the trainings with so many threads, those that nobody watched first.
    pub(super) fn add(&mut self, threads: usize, trainings: &[(Watched, Vec<Measured>)]) {
        let Some((_, plain)) = trainings.first() else { return };
        let beside_browser = trainings.iter().find(|(watched, _)| *watched == Watched::EmptyPage);
        for (watched, measured) in trainings {
            let cores = |of: fn(&Measured) -> f64| {
                format!("{:.2}", median(measured.iter().map(of).collect()))
            };
            let seconds: Vec<f64> = measured.iter().map(|each| each.seconds).collect();
            let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
            let most = seconds.iter().copied().fold(0.0, f64::max);
            let longer = Longer::of(measured, plain);
            self.others.extend(measured.iter().map(|each| each.others));
            self.rows.push(vec![
                threads.to_string(),
                watched.title().to_owned(),
                format!("{:.2} s", median(seconds)),
                format!("{least:.2}–{most:.2}"),
                cores(|each| each.training),
                cores(|each| each.worker),
                cores(|each| each.browser),
                if *watched == Watched::Not { String::new() } else { longer.text() },
            ]);
            let longer = match (watched, beside_browser) {
                // What a browser takes that shows nothing is not what the plotter takes.
                (Watched::WorkerStopped, Some((_, plain))) => Longer::of(measured, plain),
                _ => longer,
            };
            self.add_bar(threads, *watched, &longer);
        }
    }

    fn add_bar(&mut self, threads: usize, watched: Watched, longer: &Longer) {
        let spare = threads < self.cores;
        let place =
            if spare { "a core is spare".to_owned() } else { format!("{threads} busy cores") };
        let (wanted, met) = match watched {
            Watched::Page if spare => ("at most 2% longer", longer.median <= 0.02),
            Watched::Page => ("at most 5% longer", longer.median <= 0.05),
            // Where nothing is lost, half of all measurements are above nothing.
            Watched::WorkerStopped => {
                ("not longer than beside an empty page", longer.median <= 2.0 * longer.error)
            }
            Watched::Not | Watched::EmptyPage | Watched::EagerBrowser => return,
        };
        self.bars.add(&format!("{}, {place}", watched.title()), wanted, longer.text(), met);
    }

    /// All of it in Markdown.
    pub(super) fn text(&self) -> String {
        let header = [
            "threads",
            "watched",
            "median",
            "least–most",
            "cores: training",
            "worker",
            "browser",
            "longer than not",
        ];
        let commit = machine::commit().map_or_else(String::new, |commit| format!(" ({commit})"));
        format!(
            "Written by `cargo xtask bench plot` on {date}, on {machine}.\n\
             rl755 {version}{commit}.\n{others}\n\
             {iterations} iterations of TRPO on Swimmer-v5, 5,000 steps each, are timed in {rounds} rounds of all\n\
             trainings, one after another in changing order; they compute the same numbers. How much longer is\n\
             the median over the rounds of the ratio, ± the standard error of its mean. The browser is Chromium\n\
             without a display, on the same machine and drawing on its processor; it runs in Linux' idle class\n\
             (`chrt --idle 0`), or with priorities that it chooses itself.\n\n{table}{bars}",
            date = machine::today(),
            machine = machine::description(),
            version = env!("CARGO_PKG_VERSION"),
            others = machine::others(&self.others),
            iterations = self.iterations,
            rounds = self.rounds,
            table = table(&header, &self.rows, 2),
            bars = self.bars.text("bar"),
        )
    }
}

impl Watched {
    /// In the tables.
    fn title(self) -> &'static str {
        match self {
            Self::Not => "no",
            Self::EmptyPage => "no, a browser on an empty page",
            Self::Page => "page open",
            Self::WorkerStopped => "page open, worker stopped",
            Self::EagerBrowser => "page open, browser's own priority",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(seconds: &[f64]) -> Vec<Measured> {
        let (training, worker, browser, others) = (1.0, 0.01, 0.2, 0.0);
        let each = |&seconds: &f64| Measured { seconds, training, worker, browser, others };
        seconds.iter().map(each).collect()
    }

    #[test]
    fn trainings_are_compared_round_by_round() {
        // A machine at half its speed in the second round.
        let longer = Longer::of(&measured(&[10.3, 20.6]), &measured(&[10.0, 20.0]));
        assert!((longer.median - 0.03).abs() < 1e-9 && longer.error < 1e-9);
        assert_eq!(longer.text(), "+3.0% ± 0.0");
    }

    #[test]
    fn the_bar_depends_on_whether_a_core_is_spare() {
        let mut section = Section::new(2, 60, 2);
        for threads in [1, 2] {
            section.add(
                threads,
                &[
                    (Watched::Not, measured(&[10.0, 10.0])),
                    (Watched::EmptyPage, measured(&[10.1, 10.2])),
                    (Watched::Page, measured(&[10.3, 10.3])),
                    (Watched::WorkerStopped, measured(&[10.1, 10.2])),
                    (Watched::EagerBrowser, measured(&[12.0, 12.0])),
                ],
            );
        }
        let text = section.text();
        for line in [
            "| page open, a core is spare                 |                    at most 2% longer | +3.0% ± 0.0 |  no |",
            "| page open, 2 busy cores                    |                    at most 5% longer | +3.0% ± 0.0 | yes |",
            "| page open, worker stopped, 2 busy cores    | not longer than beside an empty page | +0.0% ± 0.0 | yes |",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("own priority, 2 busy"), "{text}");
    }
}
