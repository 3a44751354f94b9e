//! One self-contained page: where it goes by kernel and source line, occupancy, roofline, bank and sector maps.
//!
//! No script, no font, no picture comes from elsewhere; light and dark follow the reader's system. Without its script the page
//! has the same content, in the same order, with nothing folded away that a link cannot open.

mod kernels;
mod lines;
mod maps;
mod script;
mod style;
mod summary;

use std::fmt::Write;

use gpu_model::{
    Chip,
    occupancy::Occupancy,
    profile::{Cost, InstructionCounts, Rates},
    roofline::Roofline,
};

use crate::{
    profile::LaunchProfile,
    svg::{self, Mark, escape},
    unit,
};

/// Everything the page shows.
#[derive(Debug, Clone)]
pub struct Page<'a> {
    /// The chip that limits are taken from.
    pub chip: &'a Chip,
    /// The command that writes this page again.
    pub command: String,
    /// The kernels, those of a family together.
    pub kernels: Vec<Kernel>,
}

/// One kernel: what a launch of it counted, and what is known of it besides.
#[derive(Debug, Clone)]
pub struct Kernel {
    /// The kernels that it is shown with, if it is of a family.
    pub family: Option<String>,
    /// The launch that is shown.
    pub launch: LaunchProfile,
    /// Counters of all its launches.
    pub whole: InstructionCounts,
    /// A few words on the size, such as `512×512`.
    pub size: String,
    /// Source lines around those with counters, in order.
    pub source: Vec<SourceLine>,
    /// Blocks on a multiprocessor, or why it cannot be said.
    pub occupancy: Result<Occupancy, String>,
    /// Operations of the launch, if they were counted or can be computed.
    pub operations: Option<f64>,
    /// Operations per second measured on a real GPU.
    pub measured: Option<f64>,
}

/// One line of a kernel's source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    pub file: String,
    pub number: u32,
    pub text: String,
}

impl Kernel {
    /// Operations per byte of global traffic, if both are known.
    pub fn intensity(&self) -> Option<f64> {
        let moved = self.launch.counters.global().sectors as f64 * 32.0;
        self.operations
            .filter(|operations| *operations > 0.0 && moved > 0.0)
            .map(|operations| operations / moved)
    }

    /// Cost of all its launches.
    fn cost(&self, rates: &Rates) -> Cost {
        self.whole.cost(rates)
    }

    /// An identifier for links within the page.
    fn id(&self) -> String {
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' };
        format!("kernel-{}", self.launch.kernel.chars().map(safe).collect::<String>())
    }
}

impl Page<'_> {
    /// Writes the page.
    pub fn render(&self) -> String {
        let rates = Rates::of(self.chip);
        let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        out.push_str("<meta name=\"color-scheme\" content=\"light dark\">\n");
        let _ = writeln!(out, "<title>Warpsmith report: {}</title>", escape(self.chip.name));
        let _ = writeln!(out, "<style>{}</style>\n</head>\n<body>", style::sheet());
        out.push_str("<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
        self.header(&mut out);
        out.push_str("<main id=\"main\">\n");
        let families = summary::families(&self.kernels, &rates);
        summary::table(&mut out, &families, &rates);
        kernels::details(&mut out, &families, self.chip, &rates);
        self.roofline(&mut out);
        maps::banks(&mut out);
        maps::sectors(&mut out);
        words(&mut out);
        let _ = write!(
            out,
            "</main>\n<footer><p>Written by <code>{}</code>. Counts are per PTX instruction. They equal the hardware's when the \
             module is compiled at level 0; at higher levels ptxas may merge shared accesses.</p></footer>\n\
             <script>{}</script>\n</body>\n</html>\n",
            escape(&self.command),
            script::SCRIPT
        );
        out
    }

    fn header(&self, out: &mut String) {
        let chip = self.chip;
        let _ = writeln!(
            out,
            "<header><h1>Warpsmith report</h1>\n<p class=\"muted\">{} on the virtual GPU as {}: capability {}, {} \
             multiprocessors, {} of memory at {}.</p>",
            crate::text::counted(self.kernels.len() as u64, "kernel", "kernels"),
            escape(chip.name),
            chip.capability(),
            chip.sms,
            format_args!("{:.0} GiB", chip.memory_bytes as f64 / (1u64 << 30) as f64),
            unit::rate(chip.memory_bandwidth(), "B/s"),
        );
        out.push_str("<nav aria-label=\"Sections\"><ul>");
        for (id, name) in [
            ("summary", "Where it goes"),
            ("kernels", "Kernels"),
            ("roofline", "Roofline"),
            ("banks", "Banks"),
            ("sectors", "Sectors"),
            ("words", "Words"),
        ] {
            let _ = write!(out, "<li><a href=\"#{id}\">{name}</a></li>");
        }
        out.push_str("</ul></nav></header>\n");
    }

    fn roofline(&self, out: &mut String) {
        let lines = Roofline::of(self.chip);
        let marks: Vec<Mark> = self
            .kernels
            .iter()
            .filter_map(|kernel| {
                let arithmetic = kernel.launch.operations.arithmetic();
                Some(Mark {
                    name: kernel.launch.kernel.clone(),
                    intensity: kernel.intensity()?,
                    arithmetic,
                    roof: Roofline::for_arithmetic(self.chip, arithmetic).unwrap_or(lines),
                    measured: kernel.measured,
                })
            })
            .collect();
        out.push_str("<section id=\"roofline\" aria-labelledby=\"roofline-title\">\n");
        out.push_str("<h2 id=\"roofline-title\">Roofline</h2>\n");
        let _ = writeln!(
            out,
            "<p>Left of {:.1} operations per byte, memory decides what {} attains in f32; right of it, arithmetic \
             does. Products on tensor cores have a higher roof, which begins further to the right. Traffic is counted \
             in whole sectors, before any cache. A mark on the line is the best the kernel could do, not a \
             measurement.</p>",
            lines.ridge(),
            escape(self.chip.name)
        );
        if marks.is_empty() {
            out.push_str("<p>No kernel of this report has operations that were counted.</p>\n");
        }
        figure(out, "Roofline", &svg::roofline("Roofline", &lines, &marks), "");
        if !marks.is_empty() {
            out.push_str(
                "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Roofline as a table\">",
            );
            out.push_str(
                "<table><caption>Operations per byte</caption><thead><tr><th scope=\"col\">kernel</th>",
            );
            out.push_str("<th scope=\"col\">operations per byte</th><th scope=\"col\">at best</th></tr></thead><tbody>");
            for mark in &marks {
                let _ = write!(
                    out,
                    "<tr><th scope=\"row\">{}</th><td>{:.3}</td><td>{}</td></tr>",
                    // On a phone a name is broken at its joints.
                    escape(&mark.name).replace('_', "_<wbr/>"),
                    mark.intensity,
                    unit::rate(mark.roof.attainable(mark.intensity), "FLOP/s")
                );
            }
            out.push_str("</tbody></table></div>\n");
        }
        out.push_str("</section>\n");
    }
}

/// A drawing that scrolls sideways on small screens, with a caption of HTML.
fn figure(out: &mut String, name: &str, svg: &str, caption: &str) {
    let _ = write!(
        out,
        "<figure><div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">{svg}</div>",
        escape(name)
    );
    if !caption.is_empty() {
        let _ = write!(out, "<figcaption>{caption}</figcaption>");
    }
    out.push_str("</figure>\n");
}

/// Meanings of the page's words.
fn words(out: &mut String) {
    out.push_str("<section id=\"words\" aria-labelledby=\"words-title\">\n");
    out.push_str("<h2 id=\"words-title\">Words</h2>\n<dl>\n");
    for (term, meaning) in [
        (
            "Cost, and busy with",
            "The clocks that the busiest unit of a multiprocessor takes at its published rate: an instruction for each scheduler, \
             128 bytes of shared memory or L1, the memory's bandwidth, the tensor cores' peak. It ranks kernels and lines; it is no \
             forecast of time.",
        ),
        (
            "Lanes",
            "How many of a warp's 32 lanes execute an instruction, on average. Fewer than 32 have diverged or were masked.",
        ),
        ("Wavefront", "One pass through shared memory: each of the 32 banks hands out one word of 4 bytes."),
        (
            "Bank conflict",
            "A wavefront that is needed only because lanes want different words of one bank. Lanes that want the same \
             word share it.",
        ),
        ("Sector", "The least that global memory moves: 32 aligned bytes. Four sectors make a line."),
        (
            "Used",
            "Bytes that lanes asked for, divided by the bytes of the sectors that moved: of what is read or of what is written, \
             whichever is less. Lanes that want the same bytes count each: above 100 %, several lanes share what moves.",
        ),
        (
            "Fetches",
            "How often a block fetches each byte that it reads of global memory. A tile in shared memory makes it once. Caches may \
             serve what is fetched again; how much they do is not estimated.",
        ),
        ("Occupancy", "Warps that a multiprocessor holds at once, divided by its warp slots."),
        (
            "Operations per byte",
            "Arithmetic operations divided by bytes of global traffic; times 4, the CGMA ratio of the texts.",
        ),
    ] {
        let _ = writeln!(out, "<dt>{term}</dt><dd>{meaning}</dd>");
    }
    out.push_str("</dl>\n</section>\n");
}
