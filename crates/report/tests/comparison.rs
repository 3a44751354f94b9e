//! The README's picture of speed ratios is made from the kept results alone.
//!
//! `WARPSMITH_DRAW=1 cargo test -p report --test comparison` draws it anew.

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

const RESULTS: &str = "benches/results/h200-2026-11-23-whole.json";
const PICTURE: &str = "docs/images/comparison.svg";

/// A line of the picture: its words, whom it compares with, and which rows of the results it takes.
type Line = (&'static str, &'static str, fn(&Row<'_>) -> bool);

const LINES: [Line; 10] = [
    ("f32 products, 256 to 16384", "cuBLAS", |row| row.suite == "matmul" && row.against == "cuBLAS"),
    ("bf16 products, 2048 to 16384", "cuBLASLt", |row| row.is_tensor("bf16") && row.edge >= 2048),
    ("f16 products, 2048 to 16384", "cuBLASLt", |row| row.is_tensor("f16") && row.edge >= 2048),
    ("bf16 and f16 products, 1024", "cuBLASLt", |row| row.suite == "tensor" && row.edge == 1024),
    ("tf32 products, 2048 to 8192", "cuBLASLt", |row| row.is_tensor("tf32")),
    ("s8 products, 2048 to 8192", "cuBLASLt", |row| row.is_tensor("s8")),
    ("transposes, aligned rows", "driver copy", |row| {
        row.kernel.starts_with("transpose_hopper_") && !row.is_shifted()
    }),
    ("transposes, rows anywhere", "driver copy", |row| row.kernel.starts_with("transpose_hopper_shifted")),
    ("arrays of structs to arrays, and back", "driver copy", |row| {
        row.suite == "coalescing" && row.against == "driver copy"
    }),
    ("the demos' kernels", "nvcc, the same algorithm", |row| row.against == "nvcc"),
];

struct Row<'a> {
    suite: &'a str,
    kernel: &'a str,
    size: &'a str,
    against: &'a str,
    edge: u32,
    ratio: f64,
}

impl Row<'_> {
    fn is_tensor(&self, input: &str) -> bool {
        self.suite == "tensor" && self.size.split(' ').nth(2) == Some(input)
    }

    fn is_shifted(&self) -> bool {
        self.kernel.contains("shifted")
    }
}

fn rows(results: &Value) -> Vec<Row<'_>> {
    let rows = results["results"].as_array().expect("a list of rows");
    fn row(row: &Value) -> Option<Row<'_>> {
        let text = |key: &str| row[key].as_str();
        let size = text("size")?;
        Some(Row {
            suite: text("suite")?,
            kernel: text("kernel")?,
            size,
            against: text("against")?,
            edge: size.split('x').next()?.parse().unwrap_or(0),
            ratio: row["speed_ratio"]["ratio"].as_f64()?,
        })
    }
    rows.iter().map(|value| row(value).expect("each row has a size, names and a ratio")).collect()
}

const WIDTH: f64 = 760.0;
const LEFT: f64 = 270.0;
const RIGHT: f64 = 740.0;
const TOP: f64 = 56.0;
const STEP: f64 = 30.0;
/// The axis' range; dots beyond it stand at its end.
const SCALE: [f64; 2] = [0.85, 1.20];

fn x(ratio: f64) -> f64 {
    let share = (ratio.clamp(SCALE[0], SCALE[1]) - SCALE[0]) / (SCALE[1] - SCALE[0]);
    LEFT + share * (RIGHT - LEFT)
}

fn drawn(results: &Value) -> String {
    let rows = rows(results);
    let height = TOP + STEP * LINES.len() as f64 + 34.0;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\" \
         aria-label=\"Speed ratios on an H200\">\n\
         <style>text{{font:13px system-ui,sans-serif;fill:#1f2630}}.quiet{{fill:#5b6675;font-size:11px}}line{{stroke:#c9d1da}}\
         .one{{stroke:#1f2630}}circle{{fill:#2563eb;fill-opacity:.55}}\
         @media(prefers-color-scheme:dark){{text{{fill:#e3e8ee}}.quiet{{fill:#9aa6b2}}line{{stroke:#3a4450}}.one{{stroke:#e3e8ee}}\
         circle{{fill:#7fb0ff}}}}</style>\n\
         <text x=\"16\" y=\"22\">Speed ratio on an H200: the other's time ÷ ours; right of 1 we are faster. A dot is a size or layout.</text>\n"
    );
    let bottom = TOP + STEP * LINES.len() as f64;
    for tenth in 9..=12 {
        let (at, class) = (f64::from(tenth) / 10.0, if tenth == 10 { " class=\"one\"" } else { "" });
        writeln!(
            out,
            "<line{class} x1=\"{0:.1}\" y1=\"{1}\" x2=\"{0:.1}\" y2=\"{bottom}\"/><text class=\"quiet\" x=\"{0:.1}\" y=\"{2}\" \
             text-anchor=\"middle\">{at:.1}</text>",
            x(at),
            TOP - 10.0,
            TOP - 16.0,
        )
        .unwrap();
    }
    for (index, (words, against, takes)) in LINES.iter().enumerate() {
        let y = TOP + STEP * (index as f64 + 0.5);
        let ratios: Vec<f64> = rows.iter().filter(|row| takes(row)).map(|row| row.ratio).collect();
        assert!(ratios.len() > 3, "{words}: {ratios:?}");
        writeln!(
            out,
            "<text x=\"16\" y=\"{:.1}\">{words}</text><text class=\"quiet\" x=\"16\" y=\"{:.1}\">against {against}</text>",
            y - 1.0,
            y + 12.0
        )
        .unwrap();
        for ratio in ratios {
            writeln!(
                out,
                "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{ratio:.3}</title></circle>",
                x(ratio)
            )
            .unwrap();
        }
    }
    writeln!(
        out,
        "<text class=\"quiet\" x=\"16\" y=\"{:.1}\">Pairs taken in turn in one run; dots beyond the axis stand at its end. \
         All rows: {RESULTS}</text>",
        bottom + 22.0,
    )
    .unwrap();
    out + "</svg>\n"
}

#[test]
fn the_comparison_shows_the_results_that_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let results = std::fs::read_to_string(root.join(RESULTS)).unwrap();
    let drawn = drawn(&serde_json::from_str(&results).unwrap());
    let picture = root.join(PICTURE);
    if std::env::var_os("WARPSMITH_DRAW").is_some() {
        std::fs::write(&picture, &drawn).unwrap();
    }
    assert!(std::fs::read_to_string(&picture).unwrap() == drawn, "{PICTURE} is not what {RESULTS} shows");
}
