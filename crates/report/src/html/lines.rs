//! A kernel's source with its counters.

use std::{collections::BTreeMap, fmt::Write};

use gpu_model::profile::{Counters, LEAST_SHARE, Ranked, Rates, rank};

use super::{Kernel, summary::Bad};
use crate::{svg::escape, unit::grouped};

/// A file's name, with its folder if many files have that name.
pub(super) fn file_name(path: &str) -> &str {
    let mut slashes = path.rmatch_indices(['/', '\\']).map(|(at, _)| at + 1);
    let name = slashes.next().map_or(path, |at| &path[at..]);
    match name {
        "mod.rs" | "lib.rs" | "main.rs" => slashes.next().map_or(path, |at| &path[at..]),
        _ => name,
    }
}

/// How far all lines that are not empty are indented.
fn indent<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
    let lines = lines.filter(|line| !line.trim().is_empty());
    lines.map(|line| line.len() - line.trim_start_matches(' ').len()).min().unwrap_or(0)
}

/// Columns of a line before its source.
const COLUMNS: [&str; 8] =
    ["cost", "busy with", "instructions", "lanes", "wavefronts", "conflicts", "sectors", "fetches"];

/// Lines that are shown on either side of those with counters.
const AROUND: u32 = 2;

/// The source with its counters; without source, the counted lines alone. On a phone each line is a block that begins with
/// the source.
pub(super) fn table(out: &mut String, kernel: &Kernel, level: u32, rates: &Rates) {
    let mut ranked = rank(&kernel.launch.lines, rates);
    let all = ranked.len();
    ranked.retain(|ranked| ranked.share >= LEAST_SHARE || ranked.line.work.counters != Counters::default());
    if ranked.is_empty() {
        return;
    }
    let counted: BTreeMap<(&str, u32), &Ranked> =
        ranked.iter().map(|ranked| ((&*ranked.line.file, ranked.line.line), ranked)).collect();
    let mut rows: BTreeMap<(&str, u32), &str> = counted.keys().map(|&key| (key, "")).collect();
    for line in &kernel.source {
        let near = line.number.saturating_sub(AROUND)..=line.number + AROUND;
        if counted.range((&*line.file, *near.start())..=(&*line.file, *near.end())).next().is_some() {
            rows.insert((&line.file, line.number), &line.text);
        }
    }
    let name = escape(&format!("Counters of {} by line", kernel.launch.kernel));
    let _ = write!(
        out,
        "<h{level}>By source line</h{level}><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">\
         <table class=\"source\" role=\"table\"><caption>{name}</caption><thead><tr role=\"row\">"
    );
    for head in ["line"].iter().chain(&COLUMNS).chain(&["source"]) {
        let _ = write!(out, "<th scope=\"col\" role=\"columnheader\">{head}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    let (mut previous_file, mut indented) = ("", 0);
    for (&(file, number), &text) in &rows {
        if file != previous_file {
            indented = indent(rows.iter().filter(|((of, _), _)| *of == file).map(|(_, text)| *text));
            let _ = writeln!(
                out,
                "<tr role=\"row\" class=\"file\"><th scope=\"colgroup\" colspan=\"10\">{}</th></tr>",
                escape(file)
            );
            previous_file = file;
        }
        let ranked = counted.get(&(file, number));
        let hot = ranked.is_some_and(|ranked| ranked.wastes(rates));
        let _ = write!(
            out,
            "<tr role=\"row\"{}><th scope=\"row\" role=\"rowheader\">{number}</th>",
            if hot { " class=\"hot\"" } else { "" }
        );
        match ranked {
            None => COLUMNS.iter().for_each(|_| out.push_str("<td role=\"cell\"></td>")),
            Some(ranked) => cells(out, ranked),
        }
        let text = escape(text.get(indented..).unwrap_or(""));
        let _ = writeln!(out, "<td role=\"cell\" class=\"code\"><code>{text}</code></td></tr>");
    }
    out.push_str("</tbody></table></div>\n");
    if all > ranked.len() {
        let left_out = crate::text::counted((all - ranked.len()) as u64, "line", "lines");
        let _ = writeln!(
            out,
            "<p class=\"muted\">{left_out} more reach no memory and cost less than 1 % each.</p>"
        );
    }
}

fn cells(out: &mut String, Ranked { line, cost, share, .. }: &Ranked) {
    let work = &line.work;
    let (shared, global) = (work.counters.shared(), work.counters.global());
    let some = |count: u64| if count > 0 { grouped(count) } else { String::new() };
    let one = |number: Option<f64>| number.map_or(String::new(), |number| format!("{number:.1}"));
    let cells = [
        (format!("{:.1} %", share * 100.0), false),
        (cost.unit.name().to_owned(), false),
        (some(work.warp_instructions), false),
        (one(work.active_lanes()), work.diverges()),
        (some(shared.wavefronts), false),
        (some(shared.bank_conflicts), shared.bank_conflicts > 0),
        (some(global.sectors), work.misuses()),
        (one(work.fetches()), work.refetches()),
    ];
    for (column, (cell, bad)) in COLUMNS.into_iter().zip(cells) {
        let class = if bad { " class=\"bad\"" } else { "" };
        let bar = match column {
            "cost" => format!(" style=\"--share:{:.1}%\"", share * 100.0),
            _ => String::new(),
        };
        let _ = write!(out, "<td role=\"cell\" data-label=\"{column}\"{class}{bar}>{cell}</td>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_many_files_have_comes_with_its_folder() {
        assert_eq!(file_name("kernels-gpu/src/matmul/mod.rs"), "matmul/mod.rs");
        assert_eq!(file_name("kernels-gpu/src/lib.rs"), "src/lib.rs");
        assert_eq!(file_name("kernels-gpu/src/base/banks.rs"), "banks.rs");
        assert_eq!(file_name("mod.rs"), "mod.rs");
    }

    #[test]
    fn what_all_lines_are_indented_by() {
        assert_eq!(indent(["    a", "", "      b", "  "].into_iter()), 4);
        assert_eq!(indent(["é", "   ü"].into_iter()), 0);
        assert_eq!(indent(std::iter::empty()), 0);
    }
}
