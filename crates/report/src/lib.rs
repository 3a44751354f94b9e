//! Counters and models as tables, drawings for the terminal, SVG and an HTML page.
//!
//! Knows no GPU: what it shows is computed by `gpu_model` or was counted by the caller.

pub mod html;
pub mod palette;
pub mod profile;
pub mod svg;
pub mod text;
pub mod unit;
