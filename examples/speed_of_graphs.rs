//! Times chains of 20 small kernels: launched one by one, and as a graph. The three take turns, so that a change of the clock
//! meets all; printed are medians of 200 samples of 50 chains, and the quartiles of the ratio to the launches.

use std::time::Instant;

use warpsmith::Error;
use warpsmith::prelude::*;

#[warpsmith::device]
mod kernels {
    use warpsmith::kernel::*;

    /// `y = x + 1`.
    #[kernel]
    #[requires(x.len() == y.len())]
    pub fn add_one(block: Block<256>, x: &[f32], mut y: SliceMut<f32>) {
        y.write(&block, |_, i| x[i] + 1.0);
    }
}

const KERNELS: usize = 20;
const CHAINS: usize = 50;
const SAMPLES: usize = 200;

/// Puts a chain on the scope's stream.
fn chain<'s, 'b: 's>(
    scope: &'s Scope<'s, '_>,
    add_one: &Launcher<'_, kernels::add_one>,
    x: &mut BufferSliceMut<'b, f32>,
    y: &mut BufferSliceMut<'b, f32>,
) -> Result<(), Error> {
    for _ in 0..KERNELS / 2 {
        scope.launch(add_one, (&*x, &mut *y))?;
        scope.launch(add_one, (&*y, &mut *x))?;
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let device = Device::from_environment()?;
    let samples = if device.is_virtual() { 2 } else { SAMPLES };
    println!(
        "{}: {KERNELS} kernels a chain, {CHAINS} chains a sample, {samples} samples",
        device.limits().name
    );
    for len in [1 << 10, 1 << 16] {
        let add_one = device.embedded::<kernels::add_one>()?;
        let [mut x, mut y, mut other] =
            [device.zeroed::<f32>(len)?, device.zeroed(len)?, device.zeroed(len)?];
        let mut graph = device
            .capture((&mut x, &mut y), |scope, (mut x, mut y)| chain(scope, &add_one, &mut x, &mut y))?;
        let [mut x, mut y, mut other] = [x.slice_mut(..), y.slice_mut(..), other.slice_mut(..)];
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..=samples {
            let mut way = 0;
            let mut timed = |work: &mut dyn FnMut() -> Result<(), Error>| {
                let start = Instant::now();
                work()?;
                times[way].push(start.elapsed().as_secs_f64() * 1e6 / CHAINS as f64);
                way += 1;
                Ok::<_, Error>(())
            };
            timed(&mut || {
                device.scope(|scope| (0..CHAINS).try_for_each(|_| chain(scope, &add_one, &mut x, &mut y)))
            })?;
            timed(&mut || {
                device.scope(|scope| {
                    (0..CHAINS).try_for_each(|_| scope.launch_graph(&mut graph, (&mut x, &mut y)))
                })
            })?;
            // Recorded again and updated each time.
            timed(&mut || {
                device.scope(|scope| {
                    (0..CHAINS / 2).try_for_each(|_| {
                        scope.launch_graph(&mut graph, (&mut other, &mut y))?;
                        scope.launch_graph(&mut graph, (&mut x, &mut y))
                    })
                })
            })?;
        }
        let steps = (samples + 1) * CHAINS * KERNELS;
        // By launches and by the graph all went to x; of the updated graph's chains every second one.
        assert_eq!(x.as_slice().to_vec()?[len - 1], (2 * steps + steps / 2) as f32);
        report(len, times);
    }
    Ok(())
}

fn report(len: usize, times: [Vec<f64>; 3]) {
    let sorted = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values
    };
    let [launched, replayed, updated] = times.map(|times| times[1..].to_vec());
    for (name, others) in [("graph", &replayed), ("graph, other arguments each time", &updated)] {
        let ratios = sorted(launched.iter().zip(others).map(|(launched, other)| launched / other).collect());
        let [launched, other] = [&launched, others].map(|times| sorted(times.clone())[times.len() / 2]);
        let at = |part: usize| ratios[ratios.len() * part / 4];
        println!(
            "{len} elements, {name}: launches {launched:.1} µs, graph {other:.1} µs, ratio {:.2} ({:.2} to {:.2})",
            at(2),
            at(1),
            at(3)
        );
    }
}
