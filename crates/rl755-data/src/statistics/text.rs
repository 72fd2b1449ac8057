//! Statistics as text for a terminal.

use std::fmt;

use rl755_env::Space;

use super::{ActionHistogram, LatentStatistics, Statistics, Summary};

/// Eighths of a bar's height.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The length of the longest horizontal bar.
const BAR_LENGTH: u64 = 30;
/// The most actions or latents that get a line of their own.
const MAX_LINES: usize = 64;

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = &self.environment;
        writeln!(f, "{} ({})", spec.id, self.observation_format)?;
        let line =
            |f: &mut fmt::Formatter<'_>, name: &str, text: &str| writeln!(f, "  {name:<14}{text}");
        line(f, "rollouts", &self.rollouts.to_string())?;
        let (kind, shape) = match (&spec.observation_space, self.latents.len()) {
            (Space::Image { height, width, channels }, 0) => {
                ("frames", format!("{height}x{width}x{channels}"))
            }
            (space, 0) => ("observations", format!("{} floats", space.width())),
            (_, latents) => ("latents", format!("{latents} floats")),
        };
        line(f, kind, &format!("{} of {shape}", self.steps))?;
        let each = self.bytes as f64 / self.steps.max(1) as f64;
        line(f, "bytes", &format!("{} ({each:.0} a step)", self.bytes))?;
        line(f, "returns", &self.returns.to_string())?;
        line(f, "lengths", &self.lengths.to_string())?;
        line(f, "ends", &format!("{} terminated, {} truncated", self.terminated, self.truncated))?;
        let policies: Vec<String> = self
            .policies
            .iter()
            .map(|(policy, rollouts)| format!("{policy} in {rollouts}"))
            .collect();
        line(f, "policies", &policies.join(", "))?;
        self.fmt_actions(f)?;
        self.fmt_latents(f)
    }
}

impl Statistics {
    fn fmt_actions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  actions: {}", self.environment.action_space)?;
        let discrete = matches!(self.environment.action_space, Space::Discrete { .. });
        for (element, histogram) in self.actions.iter().take(MAX_LINES).enumerate() {
            if discrete {
                histogram.fmt_indices(f)?;
            } else {
                writeln!(f, "    {element:<3} {histogram}")?;
            }
        }
        fmt_more(f, self.actions.len())
    }

    fn fmt_latents(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.latents.is_empty() {
            return Ok(());
        }
        writeln!(f, "  latents:")?;
        for (index, latent) in self.latents.iter().take(MAX_LINES).enumerate() {
            writeln!(f, "    {index:<3} {latent}")?;
        }
        fmt_more(f, self.latents.len())?;
        let of_all = || self.latents.iter().enumerate();
        let inactive: Vec<String> = of_all()
            .filter(|(_, latent)| latent.is_inactive())
            .map(|(index, _)| index.to_string())
            .collect();
        if !inactive.is_empty() {
            let nats = LatentStatistics::INACTIVE_BELOW;
            writeln!(f, "    inactive (KL below {nats} nats): {}", inactive.join(", "))?;
        }
        Ok(())
    }
}

fn fmt_more(f: &mut fmt::Formatter<'_>, count: usize) -> fmt::Result {
    match count.checked_sub(MAX_LINES) {
        Some(more) if more > 0 => writeln!(f, "    and {more} more"),
        _ => Ok(()),
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mean, std_dev, min, quartiles: [q1, q2, q3], max } = *self;
        write!(
            f,
            "mean {mean:.2}, std {std_dev:.2}; least {min:.2}, quartiles {q1:.2} {q2:.2} {q3:.2}, \
             greatest {max:.2}"
        )
    }
}

impl fmt::Display for ActionHistogram {
    /// `-1 ▁▂▅█▅▂▁▁ 1  mean 0.01, std 0.35`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let bar = |&count: &u64| match count {
            0 => ' ',
            // Rounded up: a bar says that there is something.
            count => BARS[((count * BARS.len() as u64).div_ceil(most) - 1) as usize],
        };
        let bars: String = self.counts.iter().map(bar).collect();
        write!(f, "{} {bars} {}", self.low, self.high)?;
        write!(f, "  mean {:.3}, std {:.3}", self.mean, self.std_dev)?;
        for (count, where_) in [(self.below, "below"), (self.above, "above")] {
            if count > 0 {
                write!(f, ", {count} {where_}")?;
            }
        }
        Ok(())
    }
}

impl ActionHistogram {
    /// A line for each index.
    fn fmt_indices(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = self.counts.iter().copied().max().unwrap_or(0).max(1);
        let all = (self.counts.iter().sum::<u64>() + self.below + self.above).max(1);
        for (index, &count) in self.counts.iter().take(MAX_LINES).enumerate() {
            let bar = "█".repeat((count * BAR_LENGTH).div_ceil(most) as usize);
            let percent = 100.0 * count as f64 / all as f64;
            writeln!(f, "    {index:<3} {percent:5.1} % {count:>9} {bar}")?;
        }
        let rest: u64 = self.counts.iter().skip(MAX_LINES).sum::<u64>() + self.above + self.below;
        if rest > 0 { writeln!(f, "    others {rest}") } else { Ok(()) }
    }
}

impl fmt::Display for LatentStatistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mean, std_dev, posterior_std_dev, divergence } = *self;
        write!(f, "mean {mean:7.3}, std {std_dev:.3}, posterior std {posterior_std_dev:.3}")?;
        divergence.map_or(Ok(()), |nats| write!(f, ", KL {nats:.3} nats"))
    }
}
