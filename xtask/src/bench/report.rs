//! Sections of `docs/benchmarks.md`: tables in Markdown, and what stands above them.

use std::fs;

use rl755_run::write_atomically;

use super::machine;
use crate::workspace;

/// What a `docs/benchmarks.md` begins with.
const PREAMBLE: &str = "# Benchmarks

Each section is written by the command it names. Figures are medians; ratios are taken between
rounds that were run one after another on the same cores, so they hold better than the figures do
when the machine has other work.
";

/// How a section begins: what wrote it and when, on what, with which versions `beside` ours, how
/// busy the machine was with `others`, and how `rounds` of each program were run.
pub(crate) fn introduction(command: &str, beside: &str, others: &[f64], rounds: u32) -> String {
    let commit = machine::commit().map_or_else(String::new, |commit| format!(" ({commit})"));
    let held = match machine::cores(1) {
        Some(_) => "held to the same cores with `taskset`",
        None => "not held to cores, for want of `taskset`",
    };
    format!(
        "Written by `{command}` on {date}, on {machine}.\n\
         rl755 {version}{commit}, {beside}.\n{others}\n\
         {rounds} rounds of each program, one program after another, {held}.\n",
        date = machine::today(),
        machine = machine::description(),
        version = env!("CARGO_PKG_VERSION"),
        others = machine::others(others),
    )
}

/// What was wanted, what was measured, and whether that is enough.
#[derive(Debug, Default)]
pub(crate) struct Bars(Vec<Vec<String>>);

impl Bars {
    /// Adds one.
    pub(crate) fn add(&mut self, what: &str, wanted: &str, measured: String, met: bool) {
        let met = if met { "yes" } else { "no" };
        self.0.push(vec![what.to_owned(), wanted.to_owned(), measured, met.to_owned()]);
    }

    /// A table of all of them, under `title`, after an empty line; nothing where there are none.
    pub(crate) fn text(&self, title: &str) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        format!("\n{}", table(&[title, "wanted", "measured", "met"], &self.0, 1))
    }
}

/// A table whose columns are as wide as their widest cell. Cells after the first `left` columns are
/// aligned to the right.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>], left: usize) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column).map(|cell| cell.chars().count()));
        cells.chain([header[column].chars().count(), 3]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cell: &dyn Fn(usize) -> String| {
        let cells = widths.iter().enumerate().map(|(column, &width)| {
            let cell = cell(column);
            if column < left { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let mut table = line(&|column| header[column].to_owned());
    table += &line(&|column| {
        let dashes = "-".repeat(widths[column] - usize::from(column >= left));
        if column < left { dashes } else { format!("{dashes}:") }
    });
    for row in rows {
        table += &line(&|column| row.get(column).cloned().unwrap_or_default());
    }
    table
}

/// `value` rounded to a whole number, with commas.
pub(crate) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// How many times as fast.
pub(crate) fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2} ×") } else { format!("{ratio:.1} ×") }
}

/// A number of bytes.
pub(crate) fn megabytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    if megabytes < 10.0 { format!("{megabytes:.2} MB") } else { format!("{megabytes:.0} MB") }
}

/// Puts `body` into `docs/benchmarks.md` as the section `heading`.
pub(crate) fn write_section(heading: &str, body: &str) -> anyhow::Result<()> {
    let path = workspace::root().join("docs/benchmarks.md");
    let before = fs::read_to_string(&path).unwrap_or_default();
    write_atomically(&path, with_section(&before, heading, body).as_bytes())?;
    println!("written to {}", path.display());
    Ok(())
}

/// `document` with the section `## heading` replaced by `body`, or added at the end.
fn with_section(document: &str, heading: &str, body: &str) -> String {
    let heading = format!("## {heading}");
    let mut sections: Vec<String> = Vec::new();
    for line in document.lines() {
        if line.starts_with("## ") || sections.is_empty() {
            sections.push(String::new());
        }
        if let Some(section) = sections.last_mut() {
            section.push_str(line);
            section.push('\n');
        }
    }
    if sections.is_empty() {
        sections.push(PREAMBLE.to_owned());
    }
    let new = format!("{heading}\n\n{}\n", body.trim_end());
    match sections.iter_mut().find(|section| section.lines().next() == Some(&heading)) {
        Some(section) => *section = new,
        None => sections.push(new),
    }
    let sections: Vec<&str> = sections.iter().map(|section| section.trim_end()).collect();
    sections.join("\n\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_padded() {
        let rows = [vec!["rl755".to_owned(), "12,000".to_owned()], vec!["×".to_owned()]];
        let expected = "\
| program | steps/s |
| ------- | ------: |
| rl755   |  12,000 |
| ×       |         |
";
        assert_eq!(table(&["program", "steps/s"], &rows, 1), expected);
    }

    #[test]
    fn large_numbers_get_commas() {
        let grouped = [0.4, 999.6, 12_345.0, 1e6, -1234.0].map(grouped);
        assert_eq!(grouped, ["0", "1,000", "12,345", "1,000,000", "-1,234"]);
    }

    #[test]
    fn a_section_is_replaced_and_the_others_stay() {
        let first = with_section("", "Environments", "old\n");
        assert!(
            first.starts_with("# Benchmarks\n") && first.ends_with("\n## Environments\n\nold\n")
        );
        let both = with_section(&first, "Models", "kept");
        let after = with_section(&both, "Environments", "new\n\n| a |");
        assert_eq!(after, both.replace("\nold\n", "\nnew\n\n| a |\n"));
        assert!(after.ends_with("\n\n## Models\n\nkept\n"), "{after}");
    }
}
