//! The page's tables: all kernels at a glance, then each with its lines, occupancy and advice.

use std::{collections::BTreeMap, fmt::Write};

use gpu_model::{Chip, occupancy::Resource};

use super::Kernel;
use crate::{
    profile::{Counters, GlobalCounters},
    svg::escape,
};

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn percent(counters: &GlobalCounters) -> String {
    counters.efficiency().map_or_else(|| "–".to_owned(), |used| format!("{:.0} %", used * 100.0))
}

/// A cell that stands out when its number is not zero.
fn waste_cell(out: &mut String, count: u64) {
    let class = if count > 0 { " class=\"bad\"" } else { "" };
    let _ = write!(out, "<td{class}>{}</td>", grouped(count));
}

/// What the summary says of a kernel, a column each.
const COLUMNS: [&str; 6] =
    ["size", "shared wavefronts", "bank conflicts", "global sectors", "used", "occupancy"];

/// One row for each kernel. On a phone a row is a block, whose cells say their column's name; the roles keep it a table for
/// those who listen to it.
pub(super) fn summary(out: &mut String, kernels: &[Kernel]) {
    out.push_str("<section id=\"summary\" aria-labelledby=\"summary-title\">\n");
    out.push_str("<h2 id=\"summary-title\">Summary</h2>\n");
    out.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Kernels and their counters\">",
    );
    out.push_str(
        "<table role=\"table\"><caption>Kernels and their counters</caption><thead><tr role=\"row\">",
    );
    for head in ["kernel"].iter().chain(&COLUMNS) {
        let _ = write!(out, "<th scope=\"col\" role=\"columnheader\">{head}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    for kernel in kernels {
        let _ = write!(
            out,
            "<tr role=\"row\"><th scope=\"row\" role=\"rowheader\"><a href=\"#{}\">{}</a></th>",
            kernel.id(),
            escape(&kernel.launch.kernel)
        );
        let (shared, global) = (kernel.launch.counters.shared(), kernel.launch.counters.global());
        let occupancy = match &kernel.occupancy {
            Ok(found) => format!("{:.0} %", found.fraction * 100.0),
            Err(_) => "–".to_owned(),
        };
        let cells = [
            escape(&kernel.size),
            grouped(shared.wavefronts),
            grouped(shared.bank_conflicts),
            grouped(global.sectors),
            percent(&global),
            occupancy,
        ];
        for (column, cell) in COLUMNS.into_iter().zip(cells) {
            let class = match column {
                "size" => " class=\"wrap\"",
                "bank conflicts" if shared.bank_conflicts > 0 => " class=\"bad\"",
                _ => "",
            };
            let _ = write!(out, "<td role=\"cell\" data-label=\"{column}\"{class}>{cell}</td>");
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n</section>\n");
}

/// A part that opens for each kernel.
pub(super) fn details(out: &mut String, kernels: &[Kernel], chip: &Chip) {
    out.push_str("<section id=\"kernels\" aria-labelledby=\"kernels-title\">\n");
    out.push_str("<h2 id=\"kernels-title\">Kernels</h2>\n");
    for kernel in kernels {
        let launch = &kernel.launch;
        let waste = launch.counters.waste();
        let verdict = if waste == 0 {
            "<span class=\"good\">nothing wasted</span>".to_owned()
        } else {
            format!("<span class=\"bad\">{} wavefronts and sectors for nothing</span>", grouped(waste))
        };
        let _ = writeln!(
            out,
            "<details id=\"{}\"><summary><h3>{}</h3> {verdict}</summary>",
            kernel.id(),
            escape(&launch.kernel)
        );
        let shape = |shape: [u32; 3]| format!("{}×{}×{}", shape[0], shape[1], shape[2]);
        let _ = writeln!(
            out,
            "<p>{}: grid {}, block {}, {} bytes of shared memory, {} warp instructions.</p>",
            escape(&kernel.size),
            shape(launch.grid),
            shape(launch.block),
            grouped(launch.shared_bytes.into()),
            grouped(launch.warp_instructions)
        );
        advice(out, kernel);
        occupancy(out, kernel, chip);
        lines(out, kernel);
        if !launch.not_counted.is_empty() {
            let names: Vec<String> = launch
                .not_counted
                .iter()
                .map(|one| format!("{} × {}", grouped(one.instructions), one.family))
                .collect();
            let _ = writeln!(
                out,
                "<p class=\"muted\">Ran, but not counted, for want of a measured rule: {}.</p>",
                escape(&names.join(", "))
            );
        }
        out.push_str("</details>\n");
    }
    out.push_str("</section>\n");
}

fn advice(out: &mut String, kernel: &Kernel) {
    let mut items = String::new();
    for line in kernel.launch.worst_lines().into_iter().take(5) {
        for sentence in line.counters.advice() {
            let _ = write!(
                items,
                "<li><code>{}:{}</code>: {}.</li>",
                escape(file_name(&line.file)),
                line.line,
                escape(&sentence)
            );
        }
    }
    if !items.is_empty() {
        let _ = writeln!(out, "<h4>What to do</h4><ul>{items}</ul>");
    }
}

fn occupancy(out: &mut String, kernel: &Kernel, chip: &Chip) {
    out.push_str("<h4>Occupancy</h4>\n");
    let found = match &kernel.occupancy {
        Ok(found) => found,
        Err(reason) => {
            let _ = writeln!(out, "<p>Not known: {}.</p>", escape(reason));
            return;
        }
    };
    let sm = chip.sm;
    let _ = writeln!(
        out,
        "<p>{} of {} warps on a multiprocessor ({:.0} %).{}</p>\n<ul class=\"bars\">",
        found.warps,
        sm.warps,
        found.fraction * 100.0,
        if found.needs.registers_per_thread == 0 { " Registers are unknown and left out." } else { "" }
    );
    for (resource, used, total) in [
        (Resource::Warps, found.warps, sm.warps),
        (Resource::Registers, found.blocks * found.registers_per_block, sm.registers),
        (Resource::SharedMemory, found.blocks * found.shared_per_block, sm.shared),
        (Resource::Blocks, found.blocks, sm.blocks),
    ] {
        if resource == Resource::Registers && found.needs.registers_per_thread == 0 {
            continue;
        }
        let share = f64::from(used) / f64::from(total.max(1)) * 100.0;
        // What is used up at full occupancy stands in nobody's way.
        let limits = found.limited_by.contains(&resource) && found.fraction < 1.0;
        let (class, mark) = if limits { ("bar limit", ", limits") } else { ("bar", "") };
        let _ = writeln!(
            out,
            "<li><span>{}: {} of {}{mark}</span><span class=\"{class}\"><span style=\"width:{share:.1}%\"></span></span></li>",
            if resource == Resource::Warps { "warps" } else { resource.name() },
            grouped(used.into()),
            grouped(total.into())
        );
    }
    out.push_str("</ul>\n");
    let advice = found.advice(sm);
    if !advice.is_empty() {
        out.push_str("<ul>");
        for one in advice {
            let _ = write!(out, "<li>{one}</li>");
        }
        out.push_str("</ul>\n");
    }
}

/// A file's name, with its folder if many files have that name.
fn file_name(path: &str) -> &str {
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

/// The source with its counters; without source, the counted lines alone.
fn lines(out: &mut String, kernel: &Kernel) {
    let mut counted: BTreeMap<(&str, u32), &Counters> = BTreeMap::new();
    for line in &kernel.launch.lines {
        counted.insert((&line.file, line.line), &line.counters);
    }
    if counted.is_empty() {
        return;
    }
    let mut rows: BTreeMap<(&str, u32), &str> = counted.keys().map(|&key| (key, "")).collect();
    for line in &kernel.source {
        rows.insert((&line.file, line.number), &line.text);
    }
    let name = escape(&format!("Counters of {} by line", kernel.launch.kernel));
    let _ = write!(
        out,
        "<h4>By source line</h4><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">\
         <table class=\"source\"><caption>{name}</caption><thead><tr>"
    );
    for head in ["line", "wavefronts", "conflicts", "sectors", "beyond ideal", "source"] {
        let _ = write!(out, "<th scope=\"col\">{head}</th>");
    }
    out.push_str("</tr></thead><tbody>\n");
    let (mut previous_file, mut indented) = ("", 0);
    for (&(file, number), &text) in &rows {
        if file != previous_file {
            indented = indent(rows.iter().filter(|((of, _), _)| *of == file).map(|(_, text)| *text));
            let _ = writeln!(out, "<tr><th scope=\"colgroup\" colspan=\"6\">{}</th></tr>", escape(file));
            previous_file = file;
        }
        let counters = counted.get(&(file, number));
        let hot = counters.is_some_and(|counters| counters.waste() > 0);
        let _ = write!(out, "<tr{}><th scope=\"row\">{number}</th>", if hot { " class=\"hot\"" } else { "" });
        match counters {
            None => out.push_str("<td></td><td></td><td></td><td></td>"),
            Some(counters) => {
                let (shared, global) = (counters.shared(), counters.global());
                let _ = write!(out, "<td>{}</td>", grouped(shared.wavefronts));
                waste_cell(out, shared.bank_conflicts);
                let _ = write!(out, "<td>{}</td>", grouped(global.sectors));
                waste_cell(out, counters.waste() - shared.bank_conflicts);
            }
        }
        let _ = writeln!(out, "<td><code>{}</code></td></tr>", escape(text.get(indented..).unwrap_or("")));
    }
    out.push_str("</tbody></table></div>\n");
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
