//! The roofline as a picture of characters, both axes logarithmic.

use std::fmt::Write;

use gpu_model::roofline::Roofline;

use super::Paint;
use crate::unit::rate;

/// A kernel on the picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// One character that marks it.
    pub mark: char,
    pub name: String,
    /// Operations per byte of global traffic.
    pub intensity: f64,
    /// The roof over it: what the chip does at most of its kind of arithmetic.
    pub roof: Roofline,
}

/// Width of the heights' labels to the left of the picture.
const MARGIN: usize = 17;
const ROWS: usize = 14;

/// Draws the two lines of a chip, a level for each other roof, and where kernels stand under theirs, at the height that
/// they could attain.
///
/// The picture is as wide as the terminal, from 37 to 77 columns.
pub fn roofline(lines: &Roofline, points: &[Point], width: usize, paint: Paint) -> String {
    let columns = width.saturating_sub(MARGIN).clamp(20, 60);
    let mut roofs = vec![*lines];
    for point in points {
        if !roofs.contains(&point.roof) {
            roofs.push(point.roof);
        }
    }
    roofs.sort_by(|a, b| a.flops.total_cmp(&b.flops));
    let highest = roofs.last().copied().unwrap_or(*lines);
    let least = points.iter().map(|point| point.intensity).fold(lines.ridge() / 16.0, f64::min) / 2.0;
    let most = points.iter().map(|point| point.intensity).fold(highest.ridge() * 4.0, f64::max) * 2.0;
    let intensity_at = |column: usize| least * (most / least).powf(column as f64 / (columns - 1) as f64);
    let column_of = |intensity: f64| {
        ((intensity / least).ln() / (most / least).ln() * (columns - 1) as f64).round() as usize
    };
    let (bottom, top) = (lines.attainable(least) / 1.5, highest.flops * 1.5);
    let row_of = |flops: f64| {
        let height = (flops / bottom).ln() / (top / bottom).ln();
        ROWS - 1 - ((height * (ROWS - 1) as f64).round() as usize).min(ROWS - 1)
    };
    let mut grid = vec![vec![' '; columns]; ROWS];
    for (column, intensity) in (0..columns).map(|column| (column, intensity_at(column))) {
        for roof in roofs.iter().filter(|roof| intensity >= roof.ridge()) {
            grid[row_of(roof.flops)][column] = '─';
        }
        if intensity < highest.ridge() {
            grid[row_of(highest.attainable(intensity))][column] = '╱';
        }
    }
    for point in points {
        let column = column_of(point.intensity).min(columns - 1);
        let top = row_of(point.roof.attainable(point.intensity));
        for row in grid.iter_mut().skip(top + 1).filter(|row| row[column] == ' ') {
            row[column] = '┊';
        }
        grid[top][column] = point.mark;
    }
    let mut out = String::new();
    for (index, row) in grid.iter().enumerate() {
        let at_row = roofs.iter().find(|roof| row_of(roof.flops) == index);
        let label = at_row.map_or(String::new(), |roof| rate(roof.flops, "FLOP/s"));
        let drawn: String = row
            .iter()
            .map(|&cell| match cell {
                ' ' | '╱' | '─' => cell.to_string(),
                '┊' => paint.faint("┊"),
                mark => paint.bad(&mark.to_string()),
            })
            .collect();
        let _ = writeln!(out, "{label:>15} │{}", drawn.trim_end());
    }
    let _ = writeln!(out, "{:>15} └{}", "", "─".repeat(columns));
    let axis = "operations per byte of global memory";
    let ends = [format!("{least:.3}"), format!("{most:.1}")];
    let between = columns.saturating_sub(ends[0].len() + ends[1].len());
    let (inside, beneath) = if between > axis.len() + 1 { (axis, None) } else { ("", Some(axis)) };
    let _ = writeln!(out, "{:MARGIN$}{}{inside:^between$}{}", "", ends[0], ends[1]);
    if let Some(axis) = beneath {
        let right = MARGIN + columns;
        let _ = writeln!(out, "{axis:>right$}");
    }
    for point in points {
        let (first, then) = if width < 80 { ("\n    ", "\n    ") } else { (" ", " ") };
        let _ = writeln!(
            out,
            "  {} {}:{first}{:.3} operations per byte,{then}at best {}",
            paint.bad(&point.mark.to_string()),
            point.name,
            point.intensity,
            rate(point.roof.attainable(point.intensity), "FLOP/s")
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_holds_marks_lines_and_labels() {
        let lines = Roofline { flops: 1500e9, bandwidth: 200e9 };
        let points = [
            Point { mark: 'a', name: "naive".into(), intensity: 0.25, roof: lines },
            Point { mark: 'b', name: "tiled".into(), intensity: 4.0, roof: lines },
        ];
        let text = roofline(&lines, &points, 80, Paint::default());
        assert!(text.contains("a naive: 0.250 operations per byte, at best 50.0 GFLOP/s"), "{text}");
        assert!(text.contains("b tiled: 4.000 operations per byte, at best 800 GFLOP/s"), "{text}");
        assert!(text.contains("1.50 TFLOP/s │"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let narrow = roofline(&lines, &points, 40, Paint::default());
        let drawn =
            narrow.lines().filter(|line| line.contains(['│', '└']) || line.ends_with("global memory"));
        assert!(
            drawn.clone().count() > 14 && drawn.clone().all(|line| line.chars().count() <= 40),
            "{narrow}"
        );
    }

    #[test]
    fn a_kernel_on_tensor_cores_has_a_roof_of_its_own() {
        let lines = Roofline { flops: 60e12, bandwidth: 4e12 };
        let roof = Roofline { flops: 960e12, ..lines };
        let points = [
            Point { mark: 'a', name: "f32".into(), intensity: 1000.0, roof: lines },
            Point { mark: 'b', name: "bf16".into(), intensity: 100.0, roof },
            Point { mark: 'c', name: "large".into(), intensity: 1000.0, roof },
        ];
        let text = roofline(&lines, &points, 80, Paint::default());
        assert!(text.contains("60.0 TFLOP/s │") && text.contains("960 TFLOP/s │"), "{text}");
        assert!(text.contains("a f32: 1000.000 operations per byte, at best 60.0 TFLOP/s"), "{text}");
        assert!(text.contains("b bf16: 100.000 operations per byte, at best 400 TFLOP/s"), "{text}");
        assert!(text.contains("c large: 1000.000 operations per byte, at best 960 TFLOP/s"), "{text}");
        let row_of = |mark: char| text.lines().position(|line| line.contains(mark)).unwrap();
        assert!(row_of('c') < row_of('b') && row_of('b') < row_of('a'), "{text}");
    }
}
