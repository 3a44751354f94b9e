//! Results of a device build for `warpsmith_build`, beside the PTX.

use crate::front_end::advice;
use serde_json::Value;
use std::path::PathBuf;

/// Files and errors of a build.
#[derive(Debug, Default)]
pub struct Report {
    /// The files that the PTX was made from.
    pub files: Vec<PathBuf>,
    /// rustc's errors that have a place in the crate.
    pub errors: Vec<PlacedError>,
}

/// An error and its place.
#[derive(Debug)]
pub struct PlacedError {
    /// As rustc names it: relative to the crate's folder.
    pub file: PathBuf,
    /// From 1 on.
    pub line: u64,
    /// From 1 on, in characters.
    pub column: u64,
    /// Such as `E0425`.
    pub code: String,
    /// The message with its notes.
    pub text: String,
    /// The remedy, if it is known.
    pub advice: Option<String>,
}

impl Report {
    /// Takes in one message of cargo, which has one of rustc in it.
    pub(crate) fn note(&mut self, of_cargo: &Value) {
        let message = &of_cargo["message"];
        if message["level"] != "error" {
            return;
        }
        let spans = message["spans"].as_array().into_iter().flatten();
        let primary = spans.into_iter().find(|span| span["is_primary"] == true).map(outermost);
        let Some(span) = primary else { return };
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let children = message["children"].as_array().into_iter().flatten();
        let notes = children
            .filter_map(|child| Some(format!("{}: {}", text(&child["level"])?, text(&child["message"])?)));
        let label = text(&span["label"]).filter(|label| !label.is_empty());
        let code = text(&message["code"]["code"]);
        let first = text(&message["message"]).unwrap_or_default();
        let advice = advice::of(of_cargo);
        let lines = [Some(format!("on the GPU: {first}")), label].into_iter().flatten().chain(notes);
        self.errors.push(PlacedError {
            file: PathBuf::from(span["file_name"].as_str().unwrap_or_default()),
            line: span["line_start"].as_u64().unwrap_or_default(),
            column: span["column_start"].as_u64().unwrap_or_default(),
            code: code.unwrap_or_default(),
            text: lines.collect::<Vec<_>>().join("\n"),
            advice,
        });
    }
}

/// Where a macro was called that the place is in.
fn outermost(span: &Value) -> &Value {
    match &span["expansion"]["span"] {
        Value::Null => span,
        outer => outermost(outer),
    }
}
