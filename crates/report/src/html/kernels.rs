//! Details of each kernel: its lines, occupancy and advice, in parts that open, those of a family within one.

use std::fmt::Write;

use gpu_model::{
    Chip,
    occupancy::Resource,
    profile::{Rates, rank},
};

use super::{
    Kernel, lines,
    summary::{Family, verdict},
};
use crate::{svg::escape, text::counted, unit::grouped};

/// A part that opens for each family, and in it one for each kernel. The identifiers stand inside of what opens: a link to
/// something inside opens it, without a script.
pub(super) fn details(out: &mut String, families: &[Family], chip: &Chip, rates: &Rates) {
    out.push_str("<section id=\"kernels\" aria-labelledby=\"kernels-title\">\n");
    out.push_str("<h2 id=\"kernels-title\">Kernels</h2>\n");
    for family in families {
        let Some(name) = family.name else {
            family.kernels.iter().for_each(|kernel| detail(out, kernel, 3, chip, rates));
            continue;
        };
        let _ = writeln!(
            out,
            "<details class=\"family\"><summary><h3>{}</h3> <span class=\"muted\">{}, {:.1} %</span></summary>",
            escape(name),
            counted(family.kernels.len() as u64, "kernel", "kernels"),
            100.0 * family.share
        );
        family.kernels.iter().for_each(|kernel| detail(out, kernel, 4, chip, rates));
        out.push_str("</details>\n");
    }
    out.push_str("</section>\n");
}

/// One kernel, its heading of that level.
fn detail(out: &mut String, kernel: &Kernel, level: u32, chip: &Chip, rates: &Rates) {
    let launch = &kernel.launch;
    let name = escape(&launch.kernel);
    let _ = writeln!(
        out,
        "<details data-kernel=\"{name}\"><summary><h{level}>{name}</h{level}> {}</summary>\n<div class=\"kernel\" id=\"{}\">",
        verdict(kernel, rates),
        kernel.id(),
    );
    let shape = |shape: [u32; 3]| format!("{}×{}×{}", shape[0], shape[1], shape[2]);
    let shared = match launch.shared_bytes {
        0 => "no shared memory".to_owned(),
        bytes => format!("{} of shared memory", crate::unit::size(bytes.into())),
    };
    let _ = writeln!(
        out,
        "<p>{}: grid {}, block {}, {shared}, {} warp instructions.</p>",
        escape(&kernel.size),
        shape(launch.grid),
        shape(launch.block),
        grouped(launch.warp_instructions)
    );
    let below = level + 1;
    advice(out, kernel, below, rates);
    lines::table(out, kernel, below, rates);
    occupancy(out, kernel, below, chip);
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
    out.push_str("</div></details>\n");
}

/// Advice on the lines that cost most.
fn advice(out: &mut String, kernel: &Kernel, level: u32, rates: &Rates) {
    /// Lines that are told, those below them wait until they are the most expensive.
    const MOST: usize = 5;
    let ranked = rank(&kernel.launch.lines, rates);
    let told = ranked.iter().filter_map(|ranked| {
        let sentences: Vec<String> = ranked.advice(rates).iter().map(ToString::to_string).collect();
        (!sentences.is_empty()).then_some((&ranked.line, sentences))
    });
    let mut items = String::new();
    for (line, sentences) in told.take(MOST) {
        for sentence in sentences {
            let _ = write!(
                items,
                "<li><code>{}:{}</code>: {}.</li>",
                escape(lines::file_name(&line.file)),
                line.line,
                escape(&sentence)
            );
        }
    }
    if !items.is_empty() {
        let _ = writeln!(out, "<h{level}>What to do</h{level}><ul>{items}</ul>");
    }
}

fn occupancy(out: &mut String, kernel: &Kernel, level: u32, chip: &Chip) {
    let _ = writeln!(out, "<h{level}>Occupancy</h{level}>");
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
        let amount = |count: u32| match resource {
            Resource::SharedMemory => crate::unit::size(count.into()),
            _ => grouped(count.into()),
        };
        // A resource used up at full occupancy limits nothing.
        let limits = found.limited_by.contains(&resource) && found.fraction < 1.0;
        let (class, mark) = if limits { ("bar limit", ", limits") } else { ("bar", "") };
        let _ = writeln!(
            out,
            "<li><span>{}: {} of {}{mark}</span><span class=\"{class}\"><span style=\"width:{share:.1}%\"></span></span></li>",
            if resource == Resource::Warps { "warps" } else { resource.name() },
            amount(used),
            amount(total)
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
