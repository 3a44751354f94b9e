//! The interface of a demo.

use super::row::{self, Row};
use super::stage::Stage;
use crate::error::Error;
use crate::size::Size;

/// A demo: kernels that show one thing. Every result is checked, and every row says what it shows.
pub trait Demo: Sync {
    /// Its word on the command line, and the family of its kernels.
    fn name(&self) -> &'static str;

    /// The heading of its rows.
    fn title(&self) -> &'static str;

    /// Whether it is shown when all are asked for.
    fn is_among_all(&self) -> bool {
        true
    }

    /// Whether it is named where demos are listed.
    fn is_listed(&self) -> bool {
        self.is_among_all()
    }

    /// Whether it knows sizes of this form.
    fn takes(&self, size: Size) -> bool {
        matches!(size, Size::One(_))
    }

    /// A size of one extent that the virtual GPU runs in well under a second.
    fn measured_at(&self) -> usize {
        256
    }

    fn run(&self, stage: &Stage) -> Result<Vec<Row>, Error>;

    fn text(&self, rows: &[Row]) -> String {
        row::text(rows)
    }
}
