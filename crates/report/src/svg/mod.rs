//! Drawings as SVG, coloured by the page's CSS variables so that light and dark come for free.
//!
//! Each drawing is an image with a title and a description for those who cannot see it.

mod banks;
mod memory;
mod roofline;

use std::fmt::{self, Write};

pub use banks::bank_map;
pub use memory::memory_map;
pub use roofline::{Mark, roofline};

/// Replaces what has a meaning in HTML and SVG.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // Neither HTML nor XML may hold other control characters.
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A tenth of a unit is as near as anybody sees.
fn short(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

/// A drawing under construction.
pub(crate) struct Drawing {
    body: String,
    width: f64,
    height: f64,
    /// Below this width, the reader scrolls rather than reads ever smaller letters.
    least_width: f64,
}

impl Drawing {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Self { body: String::new(), width, height, least_width: 720.0 }
    }

    /// The same with another smallest width.
    pub(crate) fn readable_from(self, least_width: f64) -> Self {
        Self { least_width, ..self }
    }

    /// A rectangle with the classes that colour it; `tip` appears when pointed at.
    pub(crate) fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, class: &str, tip: &str) {
        let [x, y, width, height] = [x, y, width, height].map(short);
        self.add(format_args!(
            r#"<rect class="{class}" x="{x}" y="{y}" width="{width}" height="{height}" rx="2">"#
        ));
        if !tip.is_empty() {
            self.add(format_args!("<title>{}</title>", escape(tip)));
        }
        self.body.push_str("</rect>");
    }

    /// Text whose anchor is `start`, `middle` or `end`.
    pub(crate) fn text(&mut self, x: f64, y: f64, anchor: &str, class: &str, text: &str) {
        let (x, y) = (short(x), short(y));
        self.add(format_args!(
            r#"<text class="{class}" x="{x}" y="{y}" text-anchor="{anchor}">{}</text>"#,
            escape(text)
        ));
    }

    /// A line through points.
    pub(crate) fn line(&mut self, class: &str, points: &[(f64, f64)]) {
        self.add(format_args!(r#"<polyline class="{class}" points=""#));
        for (index, (x, y)) in points.iter().enumerate() {
            self.add(format_args!("{}{x:.1},{y:.1}", if index == 0 { "" } else { " " }));
        }
        self.body.push_str(r#""/>"#);
    }

    /// A dot; `tip` appears when pointed at.
    pub(crate) fn dot(&mut self, x: f64, y: f64, class: &str, tip: &str) {
        self.add(format_args!(
            r#"<circle class="{class}" cx="{x:.1}" cy="{y:.1}" r="5"><title>{}</title></circle>"#,
            escape(tip)
        ));
    }

    fn add(&mut self, what: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.body.write_fmt(what);
    }

    /// The finished image, named by `title` and described by `description`.
    pub(crate) fn finish(self, title: &str, description: &str) -> String {
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {:.0} {:.0}" style="min-width:{:.0}px" aria-label="{}"><desc>{}</desc>{}</svg>"#,
            self.width,
            self.height,
            self.width.min(self.least_width),
            escape(title),
            escape(description),
            self.body
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_escapes_from_text() {
        assert_eq!(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
        assert_eq!(escape("a\u{0}b\u{1b}[1m"), "a\u{fffd}b\u{fffd}[1m");
    }
}
