//! The cost of a launch on the virtual device: an empty kernel, waited for each time and in bursts.
//!
//!     cargo run --release -p cuda_driver --example launch_overhead

use std::time::{Duration, Instant};

use cust::prelude::*;
use warpsmith_cuda as _;

const EMPTY: &str = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry empty() { ret; }";

const WARM_UP: usize = 200;
const ROUNDS: usize = 2000;
const BURST: usize = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let _context = cust::quick_init()?;
    let module = Module::from_ptx(EMPTY, &[])?;
    let function = module.get_function("empty")?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let launch = || {
        // SAFETY: the kernel takes no parameters and does nothing.
        unsafe { launch!(function<<<1, 32, 0, stream>>>()) }
    };
    report("launch and wait", 1, || {
        launch()?;
        stream.synchronize()
    })?;
    report("launch, of a burst of 100", BURST, || {
        for _ in 0..BURST {
            launch()?;
        }
        stream.synchronize()
    })?;
    Ok(())
}

/// Prints the median and the spread of the time per call, for `count` calls.
fn report(
    name: &str,
    count: usize,
    mut run: impl FnMut() -> Result<(), cust::error::CudaError>,
) -> Result<(), cust::error::CudaError> {
    for _ in 0..WARM_UP / count {
        run()?;
    }
    let mut times = Vec::with_capacity(ROUNDS / count);
    for _ in 0..ROUNDS / count {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed() / count as u32);
    }
    times.sort_unstable();
    let at = |percent: usize| -> Duration { times[(times.len() - 1) * percent / 100] };
    println!("{name}: median {:?}, 5 % below {:?}, 95 % below {:?}", at(50), at(5), at(95));
    Ok(())
}
