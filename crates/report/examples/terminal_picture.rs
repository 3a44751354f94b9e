//! Draws what a command printed as a picture: text on standard input, SVG on standard output.
//!
//! `.ci/pictures` makes the pictures of the README with it.

use std::fmt::Write as _;
use std::io::{self, Read as _, Write as _};

/// From one character to the next. Every line is stretched to its width, so that any monospaced font fits.
const ADVANCE: f64 = 7.8;
/// From one line to the next: close enough that the lines of a table meet.
const LINE: f64 = 15.2;
/// Around the text.
const MARGIN: f64 = 16.0;

/// One line of the picture, with what a terminal would colour.
fn line(out: &mut String, index: usize, text: &str) {
    let (y, width) = (MARGIN + LINE * (index as f64 + 0.8), ADVANCE * text.chars().count() as f64);
    let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let coloured = escaped.replace(" right ", " <tspan class=\"right\">right</tspan> ");
    let class = if text.starts_with("$ ") { " class=\"asked\"" } else { "" };
    let _ = writeln!(
        out,
        "<text x=\"{MARGIN}\" y=\"{y:.1}\" textLength=\"{width:.1}\" lengthAdjust=\"spacingAndGlyphs\"{class}>{coloured}</text>"
    );
}

fn picture(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let columns = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let (width, height) = (2.0 * MARGIN + ADVANCE * columns as f64, 2.0 * MARGIN + LINE * lines.len() as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         role=\"img\" aria-label=\"What the command prints\">\n\
         <style>text{{font:13px ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace;fill:#d6dde6;white-space:pre}}\
         .right{{fill:#5fd38d}}.asked{{fill:#8ab4ff}}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#14181f\"/>\n"
    );
    for (index, text) in lines.into_iter().enumerate().filter(|(_, text)| !text.is_empty()) {
        line(&mut out, index, text);
    }
    out + "</svg>\n"
}

fn main() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    io::stdout().write_all(picture(&text).as_bytes())
}
