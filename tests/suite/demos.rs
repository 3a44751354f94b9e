//! Every demo, at sizes that are not a multiple of anything: each row is right.

use host::demos::{self, Stage};
use host::profiling::run_family;
use host::registry::kernels;
use host::size::Size;
use warpsmith_launch::Device;

use crate::{Case, quiet};

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    // Several devices have tests of their own (`tests/devices`).
    for &demo in demos::ALL.iter().filter(|demo| demo.name() != "devices") {
        let name = demo.name();
        for size in [None, Some(1), Some(31), Some(32), Some(33), Some(255), Some(1000)] {
            let product = ["matmul", "tensor"].contains(&name);
            if name == "banks" && size.is_some() || product && size.is_some_and(|size| size > 33) {
                // One warp has no size; products of such a size in every variant take minutes on the virtual GPU, and
                // have long thin shapes of their own.
                continue;
            }
            let case = size.map_or("default".to_owned(), |size: usize| size.to_string());
            cases.push(Case::new(format!("demo::{name}::{case}"), move |device| {
                let progress = quiet();
                let stage =
                    Stage { size: size.or(small(name)).map(Size::One), ..Stage::new(device, &progress) };
                let rows = demo.run(&stage)?;
                anyhow::ensure!(!rows.is_empty(), "no rows");
                for row in rows {
                    anyhow::ensure!(row.ok, "{}: {:?}", row.name(), row.wrong);
                    anyhow::ensure!(!row.check.is_empty(), "{} says not what was checked", row.name());
                }
                Ok(())
            }));
        }
    }
    cases.push(Case::virtual_only("demo::every_kernel_is_launched_and_right", every_kernel));
    cases
}

/// What `profile`, `roofline` and `check` rely on: asked for a kernel by name, its demo launches it.
fn every_kernel(device: &Device) -> anyhow::Result<()> {
    for (family, kernel) in kernels() {
        // Whole vectors in every row, and rows of any length: no kernel takes only what is neither.
        let sizes = match family {
            "banks" => vec![None],
            "matmul" => vec![Some(Size::Three(40, 36, 52))],
            "tensor" => vec![Some(Size::Three(48, 64, 32))],
            "transpose" => vec![Some(Size::Two(145, 67)), Some(Size::Two(80, 144))],
            _ => vec![Some(Size::One(1000))],
        };
        let mut launched = false;
        for size in sizes {
            let progress = quiet();
            let stage = Stage { size, only: Some(kernel.name), ..Stage::new(device, &progress) };
            for row in run_family(family, &stage)?.iter().filter(|row| row.kernel == kernel.name) {
                anyhow::ensure!(row.ok, "{}: {:?}", row.name(), row.wrong);
            }
            launched |= stage.profiles.take().iter().any(|profile| profile.kernel == kernel.name);
        }
        anyhow::ensure!(launched, "no demo launches {}", kernel.name);
    }
    Ok(())
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
