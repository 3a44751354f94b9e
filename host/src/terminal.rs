//! Output on the terminal: tables, colours only where a person reads, progress, and the one error printer.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table, Width};
use indicatif::{ProgressBar, ProgressStyle};
use owo_colors::OwoColorize;
pub use report::unit::grouped;

/// Writes `text` and a newline to standard output. A closed pipe (`warpsmith list | head`) is an error that
/// [`is_closed_pipe`] knows, not a panic.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    let written = out.write_all(text.as_bytes()).and_then(|()| out.write_all(end.as_bytes()));
    written.and_then(|()| out.flush()).context("cannot write to standard output")
}

/// Whether a JSON document was begun: a reader expects one, and no more.
static JSON_PRINTED: AtomicBool = AtomicBool::new(false);

/// Writes `value` to standard output as indented JSON.
pub fn print_json<T: serde::Serialize>(value: &T) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    JSON_PRINTED.store(true, Ordering::Relaxed);
    print(&text)
}

/// Writes an error and its causes to standard output as JSON, unless an answer is there already.
pub fn print_json_error(error: &anyhow::Error) {
    #[derive(serde::Serialize)]
    struct Failure {
        error: String,
        because: Vec<String>,
    }
    if JSON_PRINTED.load(Ordering::Relaxed) {
        return;
    }
    let because = error.chain().skip(1).map(ToString::to_string).collect();
    // Standard error has it all, and the exit code says that something is wrong.
    let _ = print_json(&Failure { error: error.to_string(), because });
}

/// Prints an error and its causes to standard error, one line each.
pub fn print_error(error: &anyhow::Error) {
    let label = if colour(&io::stderr()) { "error:".red().bold().to_string() } else { "error:".into() };
    let mut text = format!("{label} {error}\n");
    for cause in error.chain().skip(1) {
        text.push_str(&format!("  because: {cause}\n"));
    }
    // Nothing is left to tell anyone if standard error is gone.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Whether `error` only says that the reader of standard output went away.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
}

/// Whether colours go to `stream`: a terminal that knows them, and `NO_COLOR` unset.
pub fn colour(stream: &impl IsTerminal) -> bool {
    moves_its_cursor(stream) && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Whether `stream` is a terminal that does more than print what it is given.
fn moves_its_cursor(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The cell of a right result; green on a terminal.
pub const RIGHT: &str = "right";
/// The cell of a wrong result; red on a terminal.
pub const WRONG: &str = "WRONG";

/// A heading, bold on a terminal.
pub fn heading(text: &str) -> String {
    if colour(&io::stdout()) { text.bold().to_string() } else { text.to_owned() }
}

/// The least width of a first column that is broken, with its margins.
const NARROWEST: usize = 15;

/// A table: the first column left, all others right; [`RIGHT`] and [`WRONG`] coloured on a terminal. On one that is too narrow
/// the words of the first column are broken, the numbers never are; where that is not enough, each row becomes a paragraph.
pub fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(header.iter().copied());
    let room = table.width().and_then(|terminal| room_for_first(header, rows, terminal.into()));
    let coloured = colour(&io::stdout());
    for row in rows {
        let row = room.map_or_else(|| row.clone(), |room| with_first_broken(row, room));
        table.add_row(row.iter().map(|text| match text.as_str() {
            RIGHT if coloured => Cell::new(text).fg(Color::Green),
            WRONG if coloured => Cell::new(text).fg(Color::Red),
            _ => Cell::new(text),
        }));
    }
    // Narrower it would be a column of letters: the terminal breaks such a table's lines itself.
    let firsts = rows.iter().filter_map(|row| row.first()).map(String::as_str).chain(header.first().copied());
    let longest = firsts.flat_map(str::lines).map(|line| line.chars().count()).max().unwrap_or(0);
    let narrowest = (longest + 2).min(NARROWEST) as u16;
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(if index == 0 { CellAlignment::Left } else { CellAlignment::Right });
        column.set_constraint(match index {
            0 => ColumnConstraint::LowerBoundary(Width::Fixed(narrowest)),
            _ => ColumnConstraint::ContentWidth,
        });
    }
    // Each column with its margins, and the lines between them.
    let others = table.column_max_content_widths().into_iter().skip(1).map(|width| width + 2);
    let least = others.sum::<u16>() + narrowest + header.len() as u16 + 1;
    match table.width() {
        Some(terminal) if least > terminal => paragraphs(header, rows, width()),
        _ => table.trim_fmt(),
    }
}

/// The columns that a table of all its cells' widths would take, with margins and the lines between.
fn whole_width(header: &[&str], rows: &[Vec<String>]) -> usize {
    let width = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    let widest = |index: usize| rows.iter().filter_map(|row| row.get(index)).map(|cell| width(cell)).max();
    let columns = header.iter().enumerate();
    columns.map(|(index, name)| width(name).max(widest(index).unwrap_or(0)) + 3).sum::<usize>() + 1
}

/// How many letters the first column has room for on a terminal that is too narrow for all of it.
fn room_for_first(header: &[&str], rows: &[Vec<String>], terminal: usize) -> Option<usize> {
    let too_wide = whole_width(header, rows).checked_sub(terminal).filter(|&over| over > 0)?;
    let firsts = rows.iter().filter_map(|row| row.first());
    let longest = firsts.map(|first| first.chars().count()).max()?;
    Some(longest.saturating_sub(too_wide).max(NARROWEST - 2))
}

/// A row whose first cell is broken where a name has its joints, and not wherever the column ends.
fn with_first_broken(row: &[String], room: usize) -> Vec<String> {
    let [first, others @ ..] = row else { return Vec::new() };
    let (mut lines, mut line) = (Vec::new(), String::new());
    for part in first.split_inclusive([' ', '_']) {
        if !line.is_empty() && line.chars().count() + part.trim_end().chars().count() > room {
            lines.push(std::mem::take(&mut line));
        }
        line.push_str(part);
    }
    lines.push(line);
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    [vec![lines.join("\n")], others.to_vec()].concat()
}

/// Two tables beside each other, so that both fit one screen, or one above the other where the terminal is too narrow for that.
pub fn side_by_side(headers: [&[&str]; 2], [left, right]: [&[Vec<String>]; 2]) -> String {
    let header = headers.concat();
    let line = |side: &[Vec<String>], header: &[&str], index: usize| {
        side.get(index).cloned().unwrap_or_else(|| vec![String::new(); header.len()])
    };
    let both: Vec<Vec<String>> = (0..left.len().max(right.len()))
        .map(|index| [line(left, headers[0], index), line(right, headers[1], index)].concat())
        .collect();
    let fits = Table::new().width().is_none_or(|width| whole_width(&header, &both) <= width.into());
    match fits {
        true => table(&header, &both),
        false if headers[0] == headers[1] => table(headers[0], &[left, right].concat()),
        false => format!("{}\n{}", table(headers[0], left), table(headers[1], right)),
    }
}

/// The rows of a table one below the other: the first cell, and indented beneath it each other with its column's name.
fn paragraphs(header: &[&str], rows: &[Vec<String>], width: usize) -> String {
    let mut out = String::new();
    for row in rows {
        let first = row.first().map_or("", String::as_str);
        out.push_str(&broken("", first, width));
        let named = header.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty());
        let named: Vec<String> =
            named.map(|(name, cell)| format!("{} {cell}", name.replace('\n', " "))).collect();
        if !named.is_empty() {
            out.push_str(&broken("    ", &named.join(", "), width));
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// The width that sentences are broken at, on a terminal that is no narrower.
const WIDTH: usize = 100;

/// The width of the terminal, up to 100 columns, and that where there is none.
pub fn width() -> usize {
    Table::new().width().map_or(WIDTH, |width| usize::from(width).clamp(40, WIDTH))
}

/// A sentence broken into lines of at most 100 columns, fewer on a narrow terminal, the first after `first`, the others
/// indented as deep.
pub fn wrapped(first: &str, sentence: &str) -> String {
    broken(first, sentence, width())
}

fn broken(first: &str, sentence: &str, width: usize) -> String {
    let indent = first.chars().count() - first.trim_start().chars().count() + 4;
    let mut out = first.to_owned();
    let mut column = first.chars().count();
    for (index, word) in sentence.split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

/// A line on standard error that says what runs now; none if standard error is no terminal.
pub struct Progress {
    bar: ProgressBar,
    /// Prefix of lines that stay, where the moving one cannot be shown.
    piped: Option<String>,
}

impl Progress {
    /// Starts a progress line for `what`.
    pub fn new(what: &str, visible: bool) -> Self {
        let moves = moves_its_cursor(&io::stderr());
        let piped = (visible && !moves).then(|| format!("warpsmith {what}: "));
        let bar = if visible && moves {
            let bar = ProgressBar::new_spinner().with_prefix(what.to_owned());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {pos}: {msg}") {
                bar.set_style(style);
            }
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        } else {
            ProgressBar::hidden()
        };
        Self { bar, piped }
    }

    /// Says in a line that stays what of a long work is done, if standard error goes to a file or a pipe.
    pub fn milestone(&self, text: &str) {
        if let Some(what) = &self.piped {
            self.note(&format!("{what}{text}\n"));
        }
    }

    /// Says what runs now.
    pub fn step(&self, what: &str) {
        self.bar.set_message(what.to_owned());
        self.bar.inc(1);
    }

    /// How many steps there were.
    pub fn steps(&self) -> u64 {
        self.bar.position()
    }

    /// Says how many steps there will be.
    pub fn expect(&self, steps: u64) {
        self.bar.set_length(steps);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {pos} of {len}: {msg}") {
            self.bar.set_style(style);
        }
    }

    /// Writes a lasting line to standard error, whether or not it is a terminal.
    pub fn note(&self, text: &str) {
        // Nothing is left to tell anyone if standard error is gone.
        self.bar.suspend(|| {
            let _ = io::stderr().write_all(text.as_bytes());
        });
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sentences_are_broken_between_words() {
        assert_eq!(wrapped("  a: ", "short"), "  a: short\n");
        let text = wrapped("  a: ", &"word ".repeat(40));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("      word")), "{text}");
        assert_eq!(text.split_whitespace().count(), 41);
    }

    #[test]
    fn a_first_column_is_broken_where_names_have_joints() {
        let row = |name: &str| vec![name.to_owned(), "right".to_owned()];
        let first = |name: &str, room| with_first_broken(&row(name), room).swap_remove(0);
        assert_eq!(first("matmul_column_16_padded", 22), "matmul_column_16_\npadded");
        assert_eq!(first("matmul_dynamic (edge 16)", 22), "matmul_dynamic (edge\n16)");
        assert_eq!(first("short", 22), "short");
        // Two cells with their margins, and three lines: 23 + 2, 6 + 2, 3.
        let rows = [row("matmul_column_16_padded")];
        assert_eq!(whole_width(&["kernel", "result"], &rows), 36);
        assert_eq!(room_for_first(&["kernel", "result"], &rows, 36), None);
        assert_eq!(room_for_first(&["kernel", "result"], &rows, 35), Some(22));
    }

    #[test]
    fn a_table_too_wide_for_the_terminal_is_a_paragraph_for_each_row() {
        let rows = [
            vec!["t4".into(), "7.5".into(), "14.6 GiB".into()],
            vec!["none".into(), String::new(), String::new()],
        ];
        let text = paragraphs(&["model", "compute\ncapability", "memory"], &rows, 40);
        assert_eq!(text, "t4\n    compute capability 7.5, memory 14.6\n        GiB\nnone");
    }

    #[test]
    fn a_closed_pipe_is_known_through_its_context() {
        let error = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe)).context("printing");
        assert!(is_closed_pipe(&error));
        assert!(!is_closed_pipe(&anyhow::anyhow!("something else")));
    }
}
