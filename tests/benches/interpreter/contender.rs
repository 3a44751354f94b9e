//! A process that offers each kernel in turn, and launches it as often as it is asked to.

use std::cell::RefCell;
use std::collections::HashSet;
use std::io::{BufRead, Write};
use std::time::Instant;

use anyhow::ensure;
use host::demos::{self, Stage};
use host::error::Error;
use host::registry;
use host::size::Size;
use host::terminal::Progress;
use warpsmith_launch::Device;

use crate::ready::Ready;
use crate::{BLOCKWISE, launches};

/// Says a kernel's name, and answers each `again` with the nanoseconds of a launch; anything else is for the next kernel.
pub fn serve(chosen: &dyn Fn(&str) -> bool) -> anyhow::Result<()> {
    let device = Device::from_environment()?;
    for (family, kernel) in registry::kernels().filter(|(_, kernel)| chosen(kernel.name)) {
        of_a_demo(&device, family, kernel.name)?;
    }
    for (kernel, launch) in launches::all().into_iter().filter(|(kernel, _)| chosen(kernel)) {
        let ready = Ready::new(device.module(&BLOCKWISE, kernel)?.function(kernel)?, launch)?;
        let mut launch = || -> anyhow::Result<()> {
            ready.enqueue(&device)?;
            Ok(device.synchronize()?)
        };
        launch()?;
        offer(kernel, &mut launch)?;
    }
    Ok(())
}

/// The kernel as its demo launches it; of several rows the first.
fn of_a_demo(device: &Device, family: &'static str, kernel: &'static str) -> anyhow::Result<()> {
    let offered = RefCell::new(HashSet::new());
    let stopwatch = |name: &str, launch: &mut dyn FnMut() -> Result<(), Error>| {
        let is_first = offered.borrow_mut().insert(name.to_owned());
        if is_first { offer(name, launch) } else { Ok(()) }
    };
    let progress = Progress::new(family, false);
    let demo = demos::find(family).expect("each family has a demo");
    let stage = Stage {
        size: size(family, kernel),
        only: Some(kernel),
        stopwatch: Some(&stopwatch),
        ..Stage::new(device, &progress)
    };
    let rows = demo.run(&stage)?;
    for row in rows.into_iter().filter(|row| offered.borrow().contains(&row.kernel)) {
        ensure!(row.ok, "{}: {}", row.name(), row.wrong.unwrap_or_default());
    }
    Ok(())
}

/// So large that the interpreter takes milliseconds.
fn size(family: &str, kernel: &str) -> Option<Size> {
    match family {
        "banks" => None,
        "matmul" if kernel.starts_with("product_thin") || kernel.starts_with("product_vector") => {
            Some(Size::One(1024))
        }
        "matmul" => Some(Size::One(256)),
        "tensor" => Some(Size::One(128)),
        "transpose" => Some(Size::One(1024)),
        _ => Some(Size::One(1 << 18)),
    }
}

fn offer<E>(kernel: &str, launch: &mut dyn FnMut() -> Result<(), E>) -> Result<(), E> {
    let mut answers = std::io::stdout().lock();
    // Whoever reads this ends the process before it goes.
    let _ = writeln!(answers, "{kernel}");
    for question in std::io::stdin().lock().lines() {
        if question.is_ok_and(|question| question == "again") {
            let start = Instant::now();
            launch()?;
            let _ = writeln!(answers, "{}", start.elapsed().as_nanos());
        } else {
            break;
        }
    }
    Ok(())
}
