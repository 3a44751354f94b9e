//! The roofline, both axes logarithmic.

use gpu_model::roofline::{Arithmetic, Bound, Roofline};

use super::Drawing;
use crate::unit::rate;

/// A kernel on the picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    pub name: String,
    /// Operations per byte of global traffic.
    pub intensity: f64,
    /// The unit of most of its operations.
    pub arithmetic: Arithmetic,
    /// The roof over it: what the chip does at most of that arithmetic.
    pub roof: Roofline,
    /// Operations per second that were measured, on a real GPU; without, the mark stands on the line.
    pub measured: Option<f64>,
}

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 92.0;
const RIGHT: f64 = 16.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 48.0;

/// Draws the lines of a chip, the roofs that its kernels have besides, and its kernels.
pub fn roofline(name: &str, lines: &Roofline, marks: &[Mark]) -> String {
    let usable: Vec<&Mark> =
        marks.iter().filter(|mark| mark.intensity.is_finite() && mark.intensity > 0.0).collect();
    let highest =
        usable.iter().map(|mark| mark.roof).fold(*lines, |a, b| if b.flops > a.flops { b } else { a });
    let mut lower: Vec<Roofline> = Vec::new();
    for roof in usable.iter().map(|mark| mark.roof).chain([*lines]) {
        if roof != highest && !lower.contains(&roof) {
            lower.push(roof);
        }
    }
    let least = usable.iter().map(|mark| mark.intensity).fold(lines.ridge() / 32.0, f64::min) / 2.0;
    let most = usable.iter().map(|mark| mark.intensity).fold(highest.ridge() * 4.0, f64::max) * 2.0;
    let low = usable.iter().filter_map(|mark| mark.measured).fold(lines.attainable(least), f64::min);
    // Room for the labels of the lowest marks, above the axis.
    let low = low / 30.0;
    let high = highest.flops * 2.0;
    let x = |intensity: f64| LEFT + (intensity / least).ln() / (most / least).ln() * (WIDTH - LEFT - RIGHT);
    let y = |flops: f64| HEIGHT - BOTTOM - (flops / low).ln() / (high / low).ln() * (HEIGHT - TOP - BOTTOM);

    let mut drawing = Drawing::new(WIDTH, HEIGHT).readable_from(640.0);
    for power in tick_powers(least, most) {
        let at = 10f64.powi(power);
        drawing.line("grid", &[(x(at), TOP), (x(at), HEIGHT - BOTTOM)]);
        drawing.text(x(at), HEIGHT - BOTTOM + 16.0, "middle", "label", &format!("{at}"));
    }
    for power in tick_powers(low, high) {
        let at = 10f64.powi(power);
        drawing.line("grid", &[(LEFT, y(at)), (WIDTH - RIGHT, y(at))]);
        drawing.text(LEFT - 6.0, y(at) + 4.0, "end", "label", &rate(at, "FLOP/s"));
    }
    drawing.text(
        (LEFT + WIDTH - RIGHT) / 2.0,
        HEIGHT - 10.0,
        "middle",
        "label",
        "arithmetic operations per byte of global memory traffic",
    );
    let slope_end = (x(highest.ridge()), y(highest.flops));
    drawing.line("roof", &[(x(least), y(lines.attainable(least))), slope_end, (x(most), y(highest.flops))]);
    for roof in lower.iter().chain([&highest]) {
        let height = y(roof.flops);
        if roof != &highest {
            drawing.line("roof", &[(x(roof.ridge()), height), (x(most), height)]);
        }
        let label = format!("{}, {}", rate(roof.flops, "FLOP/s"), under(roof, lines, &usable));
        drawing.text(WIDTH - RIGHT - 4.0, height - 5.0, "end", "over strong", &label);
    }
    let slope = (least * lines.ridge()).sqrt();
    let bandwidth = (x(slope) - 8.0, y(lines.attainable(slope)) - 8.0);
    drawing.text(bandwidth.0, bandwidth.1, "end", "over strong", &rate(lines.bandwidth, "B/s"));

    // No label lies on another, on a roof or on the numbers of the axis.
    let mut labels =
        Labels { taken: vec![(bandwidth.0 - 70.0, bandwidth.0, bandwidth.1 - LINE, bandwidth.1 + 3.0)] };
    for roof in lower.iter().chain([&highest]) {
        labels.taken.push((x(roof.ridge()), WIDTH, y(roof.flops) - 4.0, y(roof.flops) + 4.0));
        labels.taken.push((WIDTH - 180.0, WIDTH, y(roof.flops) - LINE - 4.0, y(roof.flops)));
    }
    let clusters = clusters(&usable);
    // Beneath all labels, which no line may cross.
    for (mark, _) in &clusters {
        let height = mark.measured.unwrap_or(mark.roof.attainable(mark.intensity));
        drawing.line("drop", &[(x(mark.intensity), y(height)), (x(mark.intensity), HEIGHT - BOTTOM)]);
    }
    for (mark, more) in clusters {
        let label = if more == 0 { mark.name.clone() } else { format!("{} and {more} more", mark.name) };
        let height = mark.measured.unwrap_or(mark.roof.attainable(mark.intensity));
        let (at_x, at_y) = (x(mark.intensity), y(height));
        let bound = match mark.roof.bound(mark.intensity) {
            Bound::Memory => "bound by memory",
            Bound::Compute => "bound by arithmetic",
        };
        let tip = format!(
            "{}: {:.3} operations per byte, at best {}, {bound}",
            mark.name,
            mark.intensity,
            rate(mark.roof.attainable(mark.intensity), "FLOP/s")
        );
        drawing.dot(at_x, at_y, "mark", &tip);
        let (text_x, text_y, anchor) = labels.place(&label, (at_x, at_y));
        drawing.text(text_x, text_y, anchor, "over", &label);
    }
    let listed: Vec<String> = usable
        .iter()
        .map(|mark| format!("{} at {:.3} operations per byte", mark.name, mark.intensity))
        .collect();
    let description = format!(
        "The chip does {} of f32 at most and moves {}; the lines meet at {:.1} operations per byte. {}.",
        rate(lines.flops, "FLOP/s"),
        rate(lines.bandwidth, "B/s"),
        lines.ridge(),
        listed.join("; ")
    );
    drawing.finish(name, &description)
}

/// Labels of a roof: the kinds of arithmetic of the marks that have it.
fn under(roof: &Roofline, f32_roof: &Roofline, marks: &[&Mark]) -> String {
    let mut kinds: Vec<&str> = Vec::new();
    let f32_itself = (roof == f32_roof).then_some(Arithmetic::F32);
    let of_marks = marks.iter().filter(|mark| mark.roof == *roof).map(|mark| mark.arithmetic);
    for arithmetic in f32_itself.into_iter().chain(of_marks) {
        let kind = match arithmetic {
            Arithmetic::F32 => "f32",
            Arithmetic::TensorF16 => "f16/bf16",
            Arithmetic::TensorTf32 => "tf32",
            Arithmetic::TensorF64 => "f64 on tensor cores",
            Arithmetic::TensorF8 => "f8",
            Arithmetic::TensorS8 => "s8",
        };
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds.join(" and ")
}

/// Where labels are, and what else they must not lie on: left, right, top, bottom.
struct Labels {
    taken: Vec<(f64, f64, f64, f64)>,
}

/// The height of a line of text.
const LINE: f64 = 14.0;

impl Labels {
    /// A place for the label of a mark: its baseline and anchor.
    ///
    /// Right of the mark and below it, or left and above, the rising line is never in the way. The nearest place that is free
    /// is taken; if none is, the label stands beside its mark all the same.
    fn place(&mut self, label: &str, (x, y): (f64, f64)) -> (f64, f64, &'static str) {
        let width = label.chars().count() as f64 * 6.6;
        let below = (0..).map(|i| y + 18.0 + LINE * f64::from(i)).take_while(|&y| y < HEIGHT - BOTTOM - 3.0);
        let above = (0..).map(|i| y - 8.0 - LINE * f64::from(i)).take_while(|&y| y > TOP + LINE);
        let right = below.filter(|_| x + 9.0 + width < WIDTH).map(|y| (x + 9.0, y, "start"));
        let left = above.filter(|_| x - 9.0 - width > LEFT).map(|y| (x - 9.0, y, "end"));
        let mut places: Vec<_> = right.chain(left).collect();
        places.sort_by(|a, b| (a.1 - y).abs().total_cmp(&(b.1 - y).abs()));
        let extent = |&(x, y, anchor): &(f64, f64, &str)| {
            let left = if anchor == "end" { x - width } else { x };
            (left, left + width, y - LINE + 3.0, y + 3.0)
        };
        let free = |place: &&(f64, f64, &str)| {
            let (left, right, top, bottom) = extent(place);
            let apart =
                |&(l, r, t, b): &(f64, f64, f64, f64)| r <= left || l >= right || b <= top || t >= bottom;
            self.taken.iter().all(apart)
        };
        let place = places.iter().find(free).copied().unwrap_or((x + 9.0, y + 18.0, "start"));
        self.taken.push(extent(&place));
        place
    }
}

/// Marks too near to tell apart share one, named by the first; with the number of the others.
fn clusters<'a>(marks: &[&'a Mark]) -> Vec<(&'a Mark, usize)> {
    let mut clusters: Vec<(&Mark, usize)> = Vec::new();
    for mark in marks {
        let near = |other: &Mark| {
            (mark.intensity / other.intensity).ln().abs() < 0.05
                && mark.roof == other.roof
                && mark.measured.is_none()
                && other.measured.is_none()
        };
        match clusters.iter_mut().find(|(first, _)| near(first)) {
            Some((_, more)) => *more += 1,
            None => clusters.push((mark, 0)),
        }
    }
    clusters
}

/// Powers of ten between two values.
fn tick_powers(low: f64, high: f64) -> std::ops::RangeInclusive<i32> {
    low.log10().ceil() as i32..=high.log10().floor() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: Roofline = Roofline { flops: 1500e9, bandwidth: 200e9 };

    fn mark(name: &str, intensity: f64) -> Mark {
        Mark { name: name.into(), intensity, arithmetic: Arithmetic::F32, roof: LINES, measured: None }
    }

    #[test]
    fn marks_at_one_place_share_a_label() {
        let svg = roofline("test", &LINES, &[mark("tiled", 4.0), mark("padded", 4.05), mark("naive", 0.25)]);
        assert_eq!(svg.matches("<circle").count(), 2);
        assert!(svg.contains(">tiled and 1 more<") && svg.contains("padded at 4.050"), "{svg}");
    }

    #[test]
    fn labels_do_not_lie_on_each_other_nor_on_a_roof() {
        let mut labels = Labels { taken: vec![(300.0, WIDTH, 96.0, 104.0)] };
        let mut places: Vec<(f64, f64)> = Vec::new();
        for mark in 0..8 {
            let (x, y) = (280.0 + 4.0 * f64::from(mark), 85.0 + f64::from(mark));
            let (left, baseline, anchor) = labels.place("a_kernel_of_some_length", (x, y));
            places.push((if anchor == "end" { left - 150.0 } else { left }, baseline));
        }
        for (i, a) in places.iter().enumerate() {
            assert!(a.1 <= 96.0 + 3.0 || a.1 >= 104.0 || a.0 + 150.0 < 300.0, "{a:?} lies on the roof");
            for b in &places[..i] {
                assert!((a.0 - b.0).abs() >= 150.0 || (a.1 - b.1).abs() >= LINE - 1e-9, "{a:?} and {b:?}");
            }
        }
    }

    #[test]
    fn marks_that_cannot_stand_are_left_out() {
        let svg = roofline("test", &LINES, &[mark("naive", 0.25), mark("copy", 0.0), mark("none", f64::NAN)]);
        assert_eq!(svg.matches("<circle").count(), 1);
        assert!(svg.contains("naive: 0.250 operations per byte, at best 50.0 GFLOP/s, bound by memory"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn a_kernel_on_tensor_cores_stands_under_a_higher_roof() {
        let lines = Roofline { flops: 60e12, bandwidth: 4e12 };
        let roof = Roofline { flops: 960e12, ..lines };
        let marks = [
            Mark { roof: lines, ..mark("f32", 1000.0) },
            Mark { roof, arithmetic: Arithmetic::TensorF16, ..mark("bf16", 1000.0) },
        ];
        let svg = roofline("test", &lines, &marks);
        assert_eq!((svg.matches("<circle").count(), svg.matches("class=\"roof\"").count()), (2, 2), "{svg}");
        assert!(svg.contains(">60.0 TFLOP/s, f32<") && svg.contains(">960 TFLOP/s, f16/bf16<"), "{svg}");
        assert!(svg.contains("bf16: 1000.000 operations per byte, at best 960 TFLOP/s, bound by arithmetic"));
        assert!(svg.contains("f32: 1000.000 operations per byte, at best 60.0 TFLOP/s, bound by arithmetic"));
    }
}
