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
    /// Its name.
    pub name: String,
    /// Operations per byte of global traffic.
    pub intensity: f64,
}

const COLUMNS: usize = 60;
const ROWS: usize = 14;

/// Draws the two lines of a chip and where kernels stand under them, at the height they could attain.
pub fn roofline(lines: &Roofline, points: &[Point], paint: Paint) -> String {
    let ridge = lines.ridge();
    let least = points.iter().map(|point| point.intensity).fold(ridge / 16.0, f64::min) / 2.0;
    let most = points.iter().map(|point| point.intensity).fold(ridge * 4.0, f64::max) * 2.0;
    let intensity_at = |column: usize| least * (most / least).powf(column as f64 / (COLUMNS - 1) as f64);
    let column_of = |intensity: f64| {
        ((intensity / least).ln() / (most / least).ln() * (COLUMNS - 1) as f64).round() as usize
    };
    let (bottom, top) = (lines.attainable(least) / 1.5, lines.flops * 1.5);
    let row_of = |flops: f64| {
        let height = (flops / bottom).ln() / (top / bottom).ln();
        ROWS - 1 - ((height * (ROWS - 1) as f64).round() as usize).min(ROWS - 1)
    };
    let mut grid = vec![vec![' '; COLUMNS]; ROWS];
    for column in 0..COLUMNS {
        let intensity = intensity_at(column);
        grid[row_of(lines.attainable(intensity))][column] = if intensity < ridge { '╱' } else { '─' };
    }
    for point in points {
        let column = column_of(point.intensity).min(COLUMNS - 1);
        for row in grid.iter_mut().skip(row_of(lines.attainable(point.intensity)) + 1) {
            if row[column] == ' ' {
                row[column] = '┊';
            }
        }
        grid[row_of(lines.attainable(point.intensity))][column] = point.mark;
    }
    let mut out = String::new();
    for (index, row) in grid.iter().enumerate() {
        let label = match index {
            _ if index == row_of(lines.flops) => rate(lines.flops, "FLOP/s"),
            _ => String::new(),
        };
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
    let _ = writeln!(out, "{:>15} └{}", "", "─".repeat(COLUMNS));
    let _ =
        writeln!(out, "{:>17}{least:<12.3}{:^36}{most:>12.1}", "", "operations per byte of global memory");
    for point in points {
        let _ = writeln!(
            out,
            "  {} {}: {:.3} operations per byte, at best {}",
            paint.bad(&point.mark.to_string()),
            point.name,
            point.intensity,
            rate(lines.attainable(point.intensity), "FLOP/s")
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
            Point { mark: 'a', name: "naive".into(), intensity: 0.25 },
            Point { mark: 'b', name: "tiled".into(), intensity: 4.0 },
        ];
        let text = roofline(&lines, &points, Paint::default());
        assert!(text.contains("a naive: 0.250 operations per byte, at best 50.0 GFLOP/s"), "{text}");
        assert!(text.contains("b tiled: 4.000 operations per byte, at best 800 GFLOP/s"), "{text}");
        assert!(text.contains("1.50 TFLOP/s │"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
