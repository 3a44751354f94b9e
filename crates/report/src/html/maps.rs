//! The page's drawings of banks and sectors: the accesses that every tiled kernel meets.

use gpu_model::{
    banks::{Access, BankMap, BankSystem, Matrix},
    coalescing::{self, Coalescing, Pattern, Rule},
};

use super::figure;
use crate::{svg, text::counted};

/// Bank maps: strides, widths, a padded and an unpadded column.
pub(super) fn banks(out: &mut String) {
    out.push_str(
        "<section id=\"banks\" aria-labelledby=\"banks-title\">\n<h2 id=\"banks-title\">Banks</h2>\n",
    );
    out.push_str(
        "<p>Each lane has the colour of the bank it hits; lanes of one colour that want different words wait for each \
         other. Framed cells are served in a later pass. Draw your own: <code>warpsmith explain banks</code>.</p>\n",
    );
    let system = BankSystem::MODERN;
    let strided = |stride: u64| -> Vec<Option<u64>> { (0..32).map(|lane| Some(lane * stride * 4)).collect() };
    let plain = Matrix { rows: 32, columns: 32, pad: 0, bytes: 4 };
    let padded = Matrix { pad: 1, ..plain };
    let small = Matrix { rows: 16, columns: 16, pad: 1, bytes: 4 };
    for (name, access, lanes) in [
        ("Stride 1: every lane its own bank", Access::Load, strided(1)),
        ("Stride 2: lanes 16 apart meet", Access::Load, strided(2)),
        ("Stride 8: eight lanes to a bank", Access::Load, strided(8)),
        ("Stride 3: odd strides never conflict", Access::Load, strided(3)),
        ("Broadcast: all lanes want one word", Access::Load, strided(0)),
        ("A column of a 32×32 tile", Access::Load, plain.column(0, 32)),
        ("A column of a 32×33 tile: one padding column", Access::Load, padded.column(0, 32)),
        ("Two columns of a 16×17 tile, stored by one warp", Access::Store, small.down_the_columns(32)),
    ] {
        let map = BankMap::new(&system, access, 4, &lanes);
        let verdict = match map.cost.bank_conflicts() {
            0 => format!(
                "<span class=\"good\">no conflict</span>, {}",
                counted(map.cost.wavefronts.into(), "wavefront", "wavefronts")
            ),
            _ => format!(
                "<span class=\"bad\">{}-way conflict</span>, {} wavefronts instead of {}",
                map.cost.degree, map.cost.wavefronts, map.cost.ideal
            ),
        };
        let caption = format!("{}: {verdict}", svg::escape(name));
        figure(out, name, &svg::bank_map(name, &map, &lanes), &caption);
    }
    out.push_str("</section>\n");
}

/// Sector maps: aligned, shifted, strided, scattered, structs.
pub(super) fn sectors(out: &mut String) {
    out.push_str(
        "<section id=\"sectors\" aria-labelledby=\"sectors-title\">\n<h2 id=\"sectors-title\">Sectors</h2>\n",
    );
    out.push_str(
        "<p>A row is a line of 128 bytes, a frame a sector of 32. Filled words were asked for by the lane written in \
         them; hatched words move for nothing. Draw your own: <code>warpsmith explain coalescing</code>.</p>\n",
    );
    let structs = Pattern { name: String::new(), ..coalescing::strided(4, 3, 0) };
    for (name, pattern) in [
        ("Contiguous and aligned", coalescing::strided(4, 1, 0)),
        ("Shifted by one word", coalescing::misaligned(1)),
        ("Every second word", coalescing::strided(4, 2, 0)),
        ("One field of 12-byte structs", structs),
        ("Scattered over three lines", coalescing::scattered()),
        ("16 bytes a lane", coalescing::strided(16, 1, 0)),
    ] {
        let access = Coalescing::new(Rule::Sectors, pattern.bytes, &pattern.addresses);
        let class = if access.efficiency < 1.0 { "bad" } else { "good" };
        let caption = format!(
            "{}: {} sectors, <span class=\"{class}\">{:.0} % used</span>",
            svg::escape(name),
            access.transactions.len(),
            access.efficiency * 100.0
        );
        figure(out, name, &svg::memory_map(name, &access, &pattern.addresses), &caption);
    }
    out.push_str("</section>\n");
}
