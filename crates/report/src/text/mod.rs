//! Drawings for the terminal, at most 80 columns wide; those whose words or axes can be shorter follow a narrower one.

mod banks;
mod memory;
mod occupancy;
mod roofline;

pub use banks::{bank_map, matrix};
pub use memory::memory_map;
pub use occupancy::occupancy;
pub use roofline::{Point, roofline};

use owo_colors::OwoColorize;

/// Whether drawings may use colour; shapes and words say the same without it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Paint {
    /// Use the terminal's colours.
    pub colour: bool,
}

impl Paint {
    /// Something to be avoided, such as a conflict.
    pub fn bad(self, text: &str) -> String {
        if self.colour { text.red().bold().to_string() } else { text.to_owned() }
    }

    /// Something to be wished for, such as a shared word.
    pub fn good(self, text: &str) -> String {
        if self.colour { text.green().to_string() } else { text.to_owned() }
    }

    /// Something in the background.
    pub fn faint(self, text: &str) -> String {
        if self.colour { text.dimmed().to_string() } else { text.to_owned() }
    }
}

/// `1` pass, `2` passes.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
