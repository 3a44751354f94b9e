//! The spaces demo.

use super::{Row, Stage};
use crate::error::Error;

/// Runs the demo.
pub fn run(_stage: &Stage) -> Result<Vec<Row>, Error> {
    Ok(Vec::new())
}
