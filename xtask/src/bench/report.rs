//! Tables in Markdown, and sections of `docs/benchmarks.md`.

/// What a `docs/benchmarks.md` begins with.
const PREAMBLE: &str = "# Benchmarks

Each section is written by the command it names. Figures are medians; ratios are taken between
rounds that were run one after another on the same cores, so they hold better than the figures do
when the machine has other work.
";

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

/// `document` with the section `## heading` replaced by `body`, or added at the end.
pub(crate) fn with_section(document: &str, heading: &str, body: &str) -> String {
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
