//! The first screen: how to read the page, and what costs most, by kernel. Families are folded; the script sorts and filters.

use std::fmt::Write;

use gpu_model::profile::{InstructionCounts, Rates, rank};

use super::Kernel;
use crate::{svg::escape, text::counted, unit::grouped};

/// The kernels of a family, the most expensive first.
pub(super) struct Family<'a> {
    /// `None` if the kernels are shown by themselves.
    pub name: Option<&'a str>,
    pub kernels: Vec<&'a Kernel>,
    /// The part of the cost of all kernels.
    pub share: f64,
    clocks: f64,
}

/// The families, the most expensive first. One alone needs no name.
pub(super) fn families<'a>(kernels: &'a [Kernel], rates: &Rates) -> Vec<Family<'a>> {
    let cost = |kernel: &Kernel| kernel.cost(rates).clocks;
    let all: f64 = kernels.iter().map(cost).sum();
    let mut families: Vec<Family> = Vec::new();
    for kernel in kernels {
        let name = kernel.family.as_deref();
        let at = families.iter().position(|family| family.name == name).unwrap_or_else(|| {
            families.push(Family { name, kernels: Vec::new(), share: 0.0, clocks: 0.0 });
            families.len() - 1
        });
        families[at].kernels.push(kernel);
        families[at].clocks += cost(kernel);
    }
    for family in &mut families {
        family.kernels.sort_by(|a, b| cost(b).total_cmp(&cost(a)));
        family.share = if all > 0.0 { family.clocks / all } else { 0.0 };
    }
    families.sort_by(|a, b| b.clocks.total_cmp(&a.clocks));
    if let [family] = &mut families[..] {
        family.name = None;
    }
    families
}

/// Thresholds from which a use is bad, and therefore red. The one place that says so.
pub(super) trait Bad {
    /// A quarter of the lanes or more is idle.
    fn diverges(&self) -> bool;
    /// The part of the moved bytes that is used, of those read or of those written: the lesser.
    fn used(&self) -> Option<f64>;
    /// It is less than half.
    fn misuses(&self) -> bool;
    /// A block fetches its bytes twice or more.
    fn refetches(&self) -> bool;
}

impl Bad for InstructionCounts {
    fn diverges(&self) -> bool {
        self.divergence().is_some()
    }

    fn used(&self) -> Option<f64> {
        let both = [self.counters.global_read(), self.counters.global_written()];
        both.iter().filter_map(|global| global.efficiency()).reduce(f64::min)
    }

    fn misuses(&self) -> bool {
        self.used().is_some_and(|used| used < 0.5)
    }

    fn refetches(&self) -> bool {
        self.refetched().is_some()
    }
}

/// A kernel's waste in words; each kind by itself, since units differ.
pub(super) fn verdict(kernel: &Kernel, rates: &Rates) -> String {
    let work = kernel.launch.work();
    let mut found = Vec::new();
    match work.counters.shared().bank_conflicts {
        0 => {}
        conflicts => found.push(format!("{} bank conflicts", grouped(conflicts))),
    }
    for (what, global) in [("reads", work.counters.global_read()), ("writes", work.counters.global_written())]
    {
        if let Some(used) = global.efficiency().filter(|&used| used < 0.5) {
            found.push(format!("{what} use {:.0} % of what moves", used * 100.0));
        }
    }
    if let Some(fetches) = work.refetched() {
        found.push(format!("each byte fetched {fetches:.1} times by a block"));
    }
    if let Some(lanes) = work.active_lanes().filter(|_| work.diverges()) {
        found.push(format!("{lanes:.1} of 32 lanes at work"));
    }
    if found.is_empty() {
        let wasteful = rank(&kernel.launch.lines, rates).into_iter().filter(|line| line.wastes(rates));
        let share: f64 = wasteful.map(|line| line.share).sum();
        if share > 0.0 {
            found.push(format!("{:.0} % of its cost on lines with a remedy", share * 100.0));
        }
    }
    match found.is_empty() {
        true => "<span class=\"good\">no waste found</span>".to_owned(),
        false => format!("<span class=\"bad\">{}</span>", found.join(", ")),
    }
}

/// The table's columns for a kernel.
const COLUMNS: [&str; 7] = ["cost", "busy with", "lanes", "conflicts", "used", "fetches", "occupancy"];

/// A cell: what it says, what it is sorted by, and whether it is red.
struct Cell {
    text: String,
    key: f64,
    bad: bool,
}

impl Cell {
    fn of(number: Option<f64>, text: impl Fn(f64) -> String, bad: bool) -> Self {
        let key = number.unwrap_or(-1.0);
        Self { text: number.map_or_else(|| "–".to_owned(), text), key, bad }
    }
}

fn cells(work: &InstructionCounts, occupancy: Option<f64>, share: f64, rates: &Rates) -> [Cell; 7] {
    let cost = work.cost(rates);
    let conflicts = work.counters.shared().bank_conflicts;
    let percent = |part: f64| format!("{:.0} %", part * 100.0);
    let one = |number: f64| format!("{number:.1}");
    [
        Cell { text: format!("{:.1} %", share * 100.0), key: share, bad: false },
        Cell { text: cost.unit.name().to_owned(), key: cost.unit as u8 as f64, bad: false },
        Cell::of(work.active_lanes(), one, work.diverges()),
        Cell { text: grouped(conflicts), key: conflicts as f64, bad: conflicts > 0 },
        Cell::of(work.used(), percent, work.misuses()),
        Cell::of(work.fetches(), one, work.refetches()),
        Cell::of(occupancy, percent, false),
    ]
}

/// One row for each kernel, those of a family behind a row of its own. On a phone a row is a block, whose cells say their
/// column's name; the roles keep it a table for those who listen to it.
pub(super) fn table(out: &mut String, families: &[Family], rates: &Rates) {
    out.push_str("<section id=\"summary\" aria-labelledby=\"summary-title\">\n");
    out.push_str("<h2 id=\"summary-title\">Where it goes</h2>\n");
    out.push_str(
        "<p>Most expensive first: the bar is a kernel's part of what all cost, in clocks of the unit that is busiest with it. \
         Red is waste. A name leads to its source lines and what to do; <a href=\"#words\">what the words mean</a>.</p>\n",
    );
    out.push_str(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Kernels and their counters\">",
    );
    out.push_str(
        "<table role=\"table\"><caption>Kernels and their counters</caption><thead><tr role=\"row\">",
    );
    for head in ["kernel"].iter().chain(&COLUMNS) {
        let _ = write!(out, "<th scope=\"col\" role=\"columnheader\">{head}</th>");
    }
    out.push_str("</tr></thead>\n");
    let all: f64 = families.iter().map(|family| family.clocks).sum();
    for family in families {
        out.push_str("<tbody>\n");
        if let Some(name) = family.name {
            let whole: InstructionCounts = family.kernels.iter().map(|kernel| kernel.whole).sum();
            let head = format!(
                "<span class=\"name\">{}</span> <span class=\"muted\">{}</span>",
                escape(name),
                counted(family.kernels.len() as u64, "kernel", "kernels")
            );
            row(out, "family", name, &head, cells(&whole, None, family.share, rates));
        }
        for kernel in &family.kernels {
            let name = &kernel.launch.kernel;
            let head = format!("<a href=\"#{}\">{}</a>", kernel.id(), escape(name));
            let share = if all > 0.0 { kernel.cost(rates).clocks / all } else { 0.0 };
            let occupancy = kernel.occupancy.as_ref().ok().map(|found| found.fraction);
            row(out, "kernel", name, &head, cells(&kernel.whole, occupancy, share, rates));
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table></div>\n</section>\n");
}

fn row(out: &mut String, class: &str, name: &str, head: &str, cells: [Cell; 7]) {
    let _ = write!(
        out,
        "<tr role=\"row\" class=\"{class}\" data-name=\"{}\"><th scope=\"row\" role=\"rowheader\">{head}</th>",
        escape(name)
    );
    for (column, Cell { text, key, bad }) in COLUMNS.into_iter().zip(cells) {
        let class = if bad { " class=\"bad\"" } else { "" };
        let bar = match column {
            "cost" => format!(" style=\"--share:{:.1}%\"", key * 100.0),
            _ => String::new(),
        };
        let _ = write!(
            out,
            "<td role=\"cell\" data-label=\"{column}\" data-key=\"{key}\"{class}{bar}>{text}</td>"
        );
    }
    out.push_str("</tr>\n");
}
