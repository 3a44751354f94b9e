//! Latency: how long one access takes, how many warps hide it, and what the way from the host costs.

use std::time::Instant;

use cust::memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, LockedBuffer};
use cust::stream::{Stream, StreamFlags};
use kernels_gpu::base::latency::{SHARED_LEN, chase_global, chase_shared, copy_by_few};
use warpsmith_launch::{ErrorContext, Shape};

use super::demo::Demo;
use super::row::{Row, Workload};
use super::stage::Stage;
use super::target::Fill;
use crate::data::Random;
use crate::error::Error;
use crate::modules::LEVELS;
use crate::size::Size;
use crate::verify::exact;

/// Warps of a block in the copies.
const WARPS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];

/// More bytes than any chip's caches hold.
const CACHES: usize = 128 << 20;

pub struct LatencyDemo;

impl Demo for LatencyDemo {
    fn name(&self) -> &'static str {
        "latency"
    }

    fn title(&self) -> &'static str {
        "Latency, and what hides it"
    }

    fn measured_at(&self) -> usize {
        1 << 14
    }

    fn run(&self, stage: &Stage) -> Result<Vec<Row>, Error> {
        let n = stage.one_extent(1 << 14, 1 << 24, "a copy has one extent, for example 100000")?;
        stage.admit(Size::One(n), (n as u64).checked_mul(8))?;
        let mut rows = chains(stage)?;
        rows.extend(warps(stage, n)?);
        rows.extend(transfers(stage, n)?);
        Ok(rows)
    }
}

/// One cycle through all elements, in an order in which neighbours are far apart: a linear congruential generator, whose
/// period is the whole of a power of two (a multiplier of 1 modulo 4, an odd increment).
fn cycle(len: usize) -> Vec<u32> {
    debug_assert!(len.is_power_of_two());
    let mask = len as u32 - 1;
    (0..len as u32).map(|at| at.wrapping_mul(0x915f_77f5).wrapping_add(12345) & mask).collect()
}

/// One thread follows a chain; its length decides which memory answers.
fn chains(stage: &Stage) -> Result<Vec<Row>, Error> {
    let mut rows = vec![chain(stage, SHARED_LEN, true, "shared memory")?];
    let lengths: &[(usize, &str)] = match stage.device.is_virtual() {
        true => &[(1 << 10, "global")],
        false => &[(1 << 12, "L1, 16 KiB"), (1 << 20, "L2, 4 MiB"), (1 << 26, "global, 256 MiB")],
    };
    for &(len, case) in lengths {
        rows.push(chain(stage, len, false, case)?);
    }
    for row in &mut rows {
        row.shows = match row.cycles {
            Some(cycles) => format!("{cycles:.0} cycles from one access to the next"),
            None => "the chain is followed and checked; cycles are a real GPU's".to_owned(),
        };
    }
    Ok(rows)
}

fn chain(stage: &Stage, len: usize, shared: bool, case: &str) -> Result<Row, Error> {
    let device = stage.device;
    let next = cycle(len);
    let is_timed = !device.is_virtual() || stage.stopwatch.is_some();
    let steps = if is_timed { 1 << 14 } else { 256 };
    let expected = (0..steps).fold(0u32, |at, _| next[at as usize]);

    let chain = stage.upload("the chain", &next)?;
    let mut end = stage.upload("the end", &[u32::MAX])?;
    let mut cycles = stage.upload("the clock", &[0u64])?;
    let kernel = if shared { "chase_shared" } else { "chase_global" };
    let shape = Shape { grid: [1, 1, 1], block: [1, 1, 1], shared: 0 };
    let mut launch = || {
        // SAFETY: one thread; the chain holds indices of itself, 1024 of them for the shared one.
        unsafe {
            match shared {
                true => device
                    .kernel::<chase_shared>(&LEVELS)?
                    .launch(shape, (steps, &chain, &mut end, &mut cycles)),
                false => device
                    .kernel::<chase_global>(&LEVELS)?
                    .launch(shape, (steps, &chain, &mut end, &mut cycles)),
            }
        }
    };
    let counters = stage.once(kernel, &mut launch)?;
    if device.is_virtual() {
        stage.time(&mut launch)?;
    } else {
        // A second walk: the first one brought into the caches what fits them. Of a chain that does not fit, it has brought the
        // part that it walked through, and as many bytes written elsewhere take that out again.
        if 4 * len > CACHES {
            stage.target::<u32>("bytes between two walks", len, Fill::Zeros)?;
        }
        launch()?;
        device.synchronize()?;
    }
    let verdict = exact(&stage.download("the end", &end)?, &[expected]);
    let mut row = Row::new("latency", kernel, case, len, device.kind()).checked(verdict).counted(counters);
    if !device.is_virtual() {
        let cycles = stage.download("the clock", &cycles)?;
        row.cycles = cycles.first().map(|&cycles| cycles as f64 / f64::from(steps));
    }
    Ok(row)
}

/// The same copy by ever more warps: their accesses overlap.
fn warps(stage: &Stage, n: usize) -> Result<Vec<Row>, Error> {
    let device = stage.device;
    let numbers = Random::new(10).units(n);
    let from = stage.upload("the source", &numbers)?;
    let mut to = stage.target("the target", n, Fill::Zeros)?;
    let mut rows = Vec::new();
    for warps in WARPS {
        let (blocks, block) = if warps > 32 { (2, 32 * 32) } else { (1, warps * 32) };
        let shape =
            Shape { grid: [blocks * device.limits().sms.max(1), 1, 1], block: [block, 1, 1], shared: 0 };
        to.wipe()?;
        // SAFETY: both buffers hold n elements.
        let launch = |to: &mut DeviceBuffer<f32>| unsafe {
            device.kernel::<copy_by_few>(&LEVELS)?.launch(shape, (&from, to))
        };
        let counters = stage.once("copy_by_few", || launch(to.buffer()))?;
        let time = stage.time(|| launch(to.buffer()))?;
        let verdict = exact(to.read()?, &numbers);
        let case = format!("{warps} warp{} an SM", if warps == 1 { "" } else { "s" });
        let row = Row::new("latency", "copy_by_few", case, n, device.kind());
        let work = Workload { flops: 0.0, bytes: 8.0 * n as f64 };
        rows.push(row.checked(verdict).counted(counters).timed(time, work));
    }
    super::row::against_first(&mut rows);
    if let [few, between @ .., many] = &mut rows[..] {
        for row in between {
            row.shows = "twice the warps, twice the accesses under way".into();
        }
        few.shows = "one warp waits out every access: few bytes are under way".into();
        many.shows = "while some warps wait, others ask: the same latency, hidden".into();
    }
    Ok(rows)
}

/// Host to device: from pageable memory, from pinned memory, and from pinned memory in two halves that overlap.
fn transfers(stage: &Stage, n: usize) -> Result<Vec<Row>, Error> {
    let numbers = Random::new(11).units(n);
    let pinned = LockedBuffer::from_slice(&numbers).context("pin host memory")?;
    let work = Workload { flops: 0.0, bytes: 4.0 * n as f64 };
    let mut target = stage.upload("the target", &vec![0.0f32; n])?;
    let mut rows = Vec::new();
    let stream = stage.device.stream();
    for (kernel, case) in [("host to device", "pageable"), ("host to device", "pinned")] {
        stage.progress.step(case);
        let mut copy = || -> Result<(), warpsmith_launch::Error> {
            match case {
                "pageable" => target.copy_from(&numbers).context("copy to the device"),
                _ => {
                    // SAFETY: both buffers outlive the copy, which is waited for before either is touched.
                    unsafe { target.async_copy_from(pinned.as_slice(), stream.cust()) }
                        .context("copy to the device")?;
                    stage.device.synchronize()
                }
            }
        };
        copy()?;
        let begun = Instant::now();
        copy()?;
        // A copy from pageable memory ends on the host: the host's clock is the one that sees all of it.
        let time = (!stage.device.is_virtual()).then(|| begun.elapsed().as_secs_f64() * 1e3);
        let verdict = exact(&stage.download("the target", &target)?, &numbers);
        let shows = match case {
            "pageable" => "the driver copies it to pinned memory first, piece by piece",
            _ => "pinned memory goes straight over the bus, and may overlap with kernels",
        };
        let row = Row::new("latency", kernel, case, n, stage.device.kind()).checked(verdict);
        rows.push(row.timed(time, work).shows(shows));
    }
    rows.push(both_ways(stage, &numbers, &pinned)?);
    super::row::against_first(&mut rows);
    Ok(rows)
}

/// Pinned memory to the device on one stream, and another buffer back on a second one, at the same time.
fn both_ways(stage: &Stage, numbers: &[f32], pinned: &LockedBuffer<f32>) -> Result<Row, Error> {
    stage.progress.step("both ways");
    let n = numbers.len();
    let other = Stream::new(StreamFlags::NON_BLOCKING, None).context("make a second stream")?;
    let from = stage.upload("the source", numbers)?;
    let mut target = stage.upload("the target", &vec![0.0f32; n])?;
    let mut back = LockedBuffer::new(&0.0f32, n).context("pin host memory")?;
    let mut copies = || -> Result<(), warpsmith_launch::Error> {
        // SAFETY: all four buffers outlive the copies, which are waited for before any is touched.
        unsafe {
            target
                .async_copy_from(pinned.as_slice(), stage.device.stream().cust())
                .context("copy to the device")?;
            from.async_copy_to(back.as_mut_slice(), &other).context("copy to the host")?;
        }
        stage.device.synchronize()?;
        other.synchronize().context("wait for the second stream")
    };
    copies()?;
    let begun = Instant::now();
    copies()?;
    let time = (!stage.device.is_virtual()).then(|| begun.elapsed().as_secs_f64() * 1e3);
    let there = exact(&stage.download("the target", &target)?, numbers);
    let verdict = if there.ok { exact(back.as_slice(), numbers) } else { there };
    let row =
        Row::new("latency", "host to device", "both ways at once", n, stage.device.kind()).checked(verdict);
    let work = Workload { flops: 0.0, bytes: 8.0 * n as f64 };
    Ok(row.timed(time, work).shows("two streams: the bus carries both directions at the same time"))
}

#[cfg(test)]
mod tests {
    use super::cycle;

    #[test]
    fn a_chain_visits_every_element_once_before_it_returns() {
        for len in [1, 2, 1 << 10, 1 << 16] {
            let next = cycle(len);
            let (mut at, mut steps) = (0, 0);
            while steps == 0 || at != 0 {
                at = next[at as usize];
                steps += 1;
            }
            assert_eq!(steps, len);
        }
    }
}
