//! The choice for a primitive or for rows.

use warpsmith_launch::Shape;

/// The kernel that was picked, how it is launched, and why.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) kernel: &'static str,
    pub(crate) shape: Shape,
    pub(crate) why: String,
}

impl Plan {
    /// The kernel's name.
    pub fn kernel(&self) -> &'static str {
        self.kernel
    }

    /// Grid and block.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Why this kernel, in a sentence.
    pub fn why(&self) -> &str {
        &self.why
    }
}
