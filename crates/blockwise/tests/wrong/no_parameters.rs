//! A kernel without parameters.

use blockwise::prelude::*;

#[kernel]
pub fn wrong() {}

fn main() {}
