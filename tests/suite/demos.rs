//! Every demo, at sizes that are no multiple of anything: each row is right.

use host::demos::{self, Stage};
use host::size::Size;

use crate::{Case, quiet};

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for &(name, _, run) in demos::ALL {
        for size in [None, Some(1), Some(31), Some(33), Some(1000)] {
            if name == "banks" && size.is_some() || ["matmul", "tensor"].contains(&name) && size == Some(1000)
            {
                // One warp has no size; a product of 1000³ in every variant is minutes on the virtual GPU.
                continue;
            }
            let case = size.map_or("default".to_owned(), |size: usize| size.to_string());
            cases.push(Case::new(format!("demo::{name}::{case}"), move |device| {
                let progress = quiet();
                let stage =
                    Stage { size: size.or(small(name)).map(Size::One), ..Stage::new(device, &progress) };
                let rows = run(&stage)?;
                anyhow::ensure!(!rows.is_empty(), "no rows");
                for row in rows {
                    anyhow::ensure!(row.ok, "{}: {:?}", row.name(), row.wrong);
                    anyhow::ensure!(!row.check.is_empty(), "{} says not what was checked", row.name());
                }
                Ok(())
            }));
        }
    }
    cases
}

/// A size that keeps the debug build quick; a demo that takes none has none.
fn small(name: &str) -> Option<usize> {
    match name {
        "banks" => None,
        "matmul" | "tensor" => Some(64),
        "transpose" => Some(96),
        _ => Some(4096),
    }
}
