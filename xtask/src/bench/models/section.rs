//! The section of `docs/benchmarks.md` on models: tables, bars, and how it was measured.

use super::{Program, Speed, Task};
use crate::{
    bench::{
        rates::median,
        report::{self, Bars, grouped, table, times},
    },
    python,
};

/// What was measured so far.
#[derive(Debug)]
pub(super) struct Section {
    rounds: u32,
    /// A table of the parameters of all models.
    parameters: String,
    /// Cores that were at work for other programs, round by round.
    others: Vec<f64>,
    rows: Vec<Vec<String>>,
    /// Operations per second of matrix products on one core and on two, race by race.
    products: [Vec<f64>; 2],
    bars: Bars,
}

impl Section {
    /// Without results.
    pub(super) fn new(rounds: u32, parameters: String) -> Self {
        let (others, rows, bars) = (Vec::new(), Vec::new(), Bars::default());
        Self { rounds, parameters, others, rows, products: Default::default(), bars }
    }

    /// Adds the speeds of a task on some cores, ours first, and what they say of the bar.
    pub(super) fn add_speeds(&mut self, task: Task, speeds: &[Speed]) {
        let Some((ours, others)) = speeds.split_first() else { return };
        let product = others.iter().find(|speed| speed.program == Program::MatrixProduct);
        let share = |speed: &Speed| -> Option<f64> {
            Some(task.flops() as f64 * speed.rounds.over(&product?.rounds))
        };
        let mut least = f64::INFINITY;
        for speed in speeds {
            self.others.extend(speed.rounds.others());
            let title = match speed.program {
                Program::MatrixProduct => {
                    self.products[speed.cores.clamp(1, 2) - 1].push(speed.rounds.median());
                    continue;
                }
                Program::Ours => "rl755".to_owned(),
                Program::PyTorch(_) if others.len() < 3 => "PyTorch".to_owned(),
                Program::PyTorch(layout) => format!("PyTorch, {layout}"),
            };
            let ratio = ours.rounds.over(&speed.rounds);
            let is_ours = speed.program == Program::Ours;
            if !is_ours {
                least = least.min(ratio);
            }
            let (rate, (slowest, fastest)) = (speed.rounds.median(), speed.rounds.spread());
            self.rows.push(vec![
                task.title().to_owned(),
                title,
                speed.cores.to_string(),
                grouped(rate),
                format!("{}–{}", grouped(slowest), grouped(fastest)),
                format!("{:.2} ms", 1e3 * task.frames() as f64 / rate),
                share(speed).map(|share| format!("{:.0}%", 100.0 * share)).unwrap_or_default(),
                speed.rounds.cores_used().map(|used| format!("{used:.2}")).unwrap_or_default(),
                if is_ours { String::new() } else { times(ratio) },
            ]);
        }
        let cores =
            if ours.cores == 1 { "1 core".to_owned() } else { format!("{} cores", ours.cores) };
        let what = format!("{} over PyTorch's better, {cores}", task.title());
        let wanted = format!("≥ {:.1} ×", task.least());
        self.bars.add(&what, &wanted, times(least), least >= task.least());
    }

    /// All of it in Markdown.
    pub(super) fn text(&self) -> String {
        let header = [
            "task",
            "program",
            "cores",
            "frames/s",
            "least–most",
            "a step or batch",
            "of the matrix product",
            "cores used",
            "rl755 over it",
        ];
        let mut text = format!("{}\n{}", self.introduction(), table(&header, &self.rows, 2));
        text += &self.bars.text("bar");
        text += "\nParameters at the defaults, for frames of CarRacing, latents of 32 numbers and \
                 actions of 3:\n\n";
        text += &self.parameters;
        text
    }

    fn introduction(&self) -> String {
        let beside = format!("PyTorch {}", python::PYTORCH.version("torch"));
        let mut text =
            report::introduction("cargo xtask bench models", &beside, &self.others, self.rounds);
        text += "A step of the VAE takes 64 frames of 64×64, one of a sequence model 32 sequences of \
                 32 steps, which\nare the frames counted; both are with the loss, its gradients and \
                 Adam. Encoded are frames of\n64×64: by ours from bytes, by PyTorch from floats, \
                 without gradients. PyTorch's layouts are its two\norders of an image in memory.\n";
        let products = [("one core", &self.products[0]), ("two", &self.products[1])];
        let products: Vec<String> = products
            .into_iter()
            .filter(|(_, rates)| !rates.is_empty())
            .map(|(cores, rates)| format!("{:.0} GFLOP/s on {cores}", median(rates.clone()) / 1e9))
            .collect();
        text += &format!(
            "\nThe machine multiplies matrices of 1,024×1,024 floats (the `gemm` crate) at\n{}, measured \
             in the same rounds. The models' products have\nthe share of it in the table. They are \
             counted from the sizes of the layers, forwards and\nbackwards, two operations for each \
             multiplication and addition; a step attends to half of the\nsequence on average:\n\n",
            products.join(" and ")
        );
        let rows: Vec<Vec<String>> = Task::ALL
            .into_iter()
            .filter(|task| *task != Task::Encode1)
            .map(|task| {
                let title = if task == Task::Encode64 { "encode" } else { task.title() };
                vec![title.to_owned(), format!("{:.2} MFLOP", task.flops() as f64 / 1e6)]
            })
            .collect();
        text + &table(&["", "a frame"], &rows, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::rates::{Round, Rounds, Usage};

    /// Speeds of the programs of `task`, in their order.
    fn speeds(task: Task, rates: &[u64]) -> Vec<Speed> {
        let usage = Some(Usage { own: 1.0, others: 0.0 });
        let rounds =
            |&steps: &u64| Rounds(vec![Round { steps, seconds: 1.0, resets: 0, usage }; 3]);
        let programs = task.programs().iter().zip(rates);
        programs.map(|(&program, rate)| Speed { program, cores: 1, rounds: rounds(rate) }).collect()
    }

    #[test]
    fn the_better_layout_of_the_peer_counts() {
        let mut section = Section::new(3, "| model |\n".to_owned());
        let task = Task::TrainVae64;
        section.add_speeds(task, &speeds(task, &[500, 300, 400, 460_000_000_000]));
        let text = section.text();
        assert!(
            text.contains(
                "| train vae-64 over PyTorch's better, 1 core | ≥ 1.3 × |   1.25 × |  no |"
            ),
            "{text}"
        );
        assert!(text.contains("460 GFLOP/s on one core, measured"), "{text}");
        // 500 frames of 229.6 MFLOP are a quarter.
        assert!(text.contains("128.00 ms |                   25% |"), "{text}");
        assert!(text.ends_with("| model |\n"));
    }

    #[test]
    fn sequence_models_have_one_layout() {
        let mut section = Section::new(3, String::new());
        let task = Task::TrainMdnRnn;
        section.add_speeds(task, &speeds(task, &[2000, 1000, 100_000_000_000]));
        let text = section.text();
        assert!(text.contains("| train mdn-rnn | PyTorch |"), "{text}");
        assert!(text.contains("| ≥ 1.0 × |   2.00 × | yes |"), "{text}");
    }
}
