//! Products and transposes over several devices: against one device, against themselves without overlap, and against NCCL.
//!
//! Times are the host's: from the first launch until every device has ended, over as many runs as make a sample long. Both
//! sides of a pair are measured in turn in one run.

use std::time::Instant;

use warpsmith_collectives::{Communicator, Traffic, together_async};
use warpsmith_distributed::{DeviceGroup, GatheredProduct, SplitProduct, Transport, Transpose, shares};
use warpsmith_launch::{Bf16, Device, DevicePreference};

use super::super::competitor::Kind;
use super::super::measure::{Bench, Comparison};
use super::super::statistics::{SpeedRatio, Spread as Times};
use super::super::suite::{Suite, TensorCases};
use crate::data::{Random, transposed};
use crate::demos::devices::{PIECES, TIMEOUT};
use crate::error::Error;
use crate::size::Size;
use crate::spread::{Matrices, Spread, all_of, worse};
use crate::verify::{Verdict, exact};

/// The edges of strong scaling; the largest is each device's C of weak scaling.
const EDGES: [usize; 2] = [16384, 8192];
/// Longest time of a pair's samples together, in seconds, once there are enough of them.
const ENOUGH: f64 = 4.0;
const FEWEST: usize = 8;

pub struct DevicesSuite;

impl Suite for DevicesSuite {
    fn name(&self) -> &'static str {
        "devices"
    }

    fn about(&self) -> &'static str {
        "Products and transposes over several GPUs: weak and strong scaling, overlap, NCCL"
    }

    fn title(&self) -> &'static str {
        "Several GPUs"
    }

    // It needs several.
    fn is_among_all(&self) -> bool {
        false
    }

    fn tasks(&self) -> &'static [Kind] {
        &[]
    }

    fn run(&self, bench: &Bench<'_>, sizes: &[Size], _: &TensorCases) -> Result<Vec<Comparison>, Error> {
        let devices = Device::all(DevicePreference::Gpu)?;
        let mut counts: Vec<usize> = [2, 4, 8].into_iter().filter(|&count| count < devices.len()).collect();
        if devices.len() < 2 {
            bench.leave_out(format!("devices: {} is here, and two are needed", devices.len()));
        } else {
            counts.push(devices.len());
        }
        let edges: Vec<(usize, usize, usize)> = match sizes {
            [] => EDGES.iter().map(|&edge| (edge, edge, edge)).collect(),
            sizes => sizes.iter().map(|size| size.product()).collect(),
        };
        let mut rows = Vec::new();
        for count in counts {
            let ranks = Communicator::all(&devices[..count], TIMEOUT)?;
            let alone = Communicator::all(&devices[..1], TIMEOUT)?;
            let over = Over { bench, devices: &devices[..count], ranks: &ranks, alone: &alone };
            rows.extend(over.products::<Bf16>(&edges)?);
            rows.extend(over.products::<f32>(&edges)?);
            for &extents in &edges {
                rows.extend(over.transposed(extents)?);
            }
        }
        bench.device.enter()?;
        Ok(rows)
    }
}

/// Devices together, and one of them alone.
struct Over<'a, 'b> {
    bench: &'a Bench<'b>,
    devices: &'a [Device],
    ranks: &'a [Communicator<'a>],
    alone: &'a [Communicator<'a>],
}

impl Over<'_, '_> {
    fn products<I: Spread>(&self, edges: &[(usize, usize, usize)]) -> Result<Vec<Comparison>, Error> {
        let mut rows = Vec::new();
        if let Some(&(m, n, k)) = edges.first() {
            // Each device's part of C is as large as one alone has it.
            let all = (m * self.devices.len(), n, k);
            rows.extend(self.gathered::<I>("weak", all, (m, n, k), "1 GPU, its part")?);
        }
        for &extents in edges {
            rows.extend(self.gathered::<I>("strong", extents, extents, "1 GPU, all of it")?);
            rows.extend(self.split::<I>(extents)?);
        }
        Ok(rows)
    }

    /// Rows of A on each device, columns of B gathered.
    fn gathered<I: Spread>(
        &self,
        scaling: &str,
        extents: (usize, usize, usize),
        of_one: (usize, usize, usize),
        against_one: &'static str,
    ) -> Result<Vec<Comparison>, Error> {
        let (m, n, k) = extents;
        let count = self.devices.len();
        let names =
            (format!("gathered {}, {count} GPUs, {scaling}", I::INPUT.name()), format!("{m}x{n}x{k}"));
        self.bench.step(&format!("{} {}", names.0, names.1));
        let matrices = Matrices::<I>::random(extents);
        let (rows, columns) = (|range| matrices.rows(range), |range| matrices.columns(range));
        let types = (I::INPUT, I::OUTPUT);
        let [copies, collectives] = [Transport::CopyEngines, Transport::Collectives]
            .map(|transport| DeviceGroup::new(self.ranks, transport));
        let (copies, collectives) = (copies?, collectives?);
        let ours = GatheredProduct::<I, I::C>::new(&copies, extents, types, rows, columns)?.with_whole()?;
        let nccl =
            GatheredProduct::<I, I::C>::new(&collectives, extents, types, rows, columns)?.with_whole()?;
        let checked = |product: &GatheredProduct<'_, '_, I, I::C>| {
            let c = product.results()?;
            let parts = c.iter().enumerate().map(|(rank, c)| matrices.check(shares(m, count, rank), c));
            Ok::<_, Error>(all_of(parts))
        };
        self.ranks[0].traffic().take();
        ours.run()?;
        let mut verdict = checked(&ours)?;
        let moved = total(self.ranks[0].traffic());
        ours.wipe()?;
        ours.run_plain()?;
        verdict = worse(verdict, checked(&ours)?);
        nccl.run()?;
        verdict = worse(verdict, checked(&nccl)?);
        let group = DeviceGroup::new(self.alone, Transport::CopyEngines)?;
        let one = GatheredProduct::<I, I::C>::new(&group, of_one, types, rows, columns)?;
        // The time to hide, and its hidden part.
        let gather = self.median(&mut || Ok(ours.run_gather()?))?;
        let products = self.median(&mut || Ok(ours.run_products()?))?;
        let overlapped = self.median(&mut || Ok(ours.run()?))?;
        let hidden = 1.0 - ((overlapped - products) / gather).clamp(0.0, 1.0);
        let work = (2.0 * m as f64 * n as f64 * k as f64, "GFLOP/s");
        let others: [(&'static str, &mut Run<'_>); 4] = [
            (against_one, &mut || Ok(one.run()?)),
            ("no overlap", &mut || Ok(ours.run_plain()?)),
            ("NCCL, overlap", &mut || Ok(nccl.run()?)),
            ("NCCL, no overlap", &mut || Ok(nccl.run_plain()?)),
        ];
        let mut results = Vec::new();
        for (against, other) in others {
            let row = self.pair(&names, against, work, &mut || Ok(ours.run()?), other, &verdict)?;
            results.push(Comparison { communicated: Some(moved), hidden: Some(hidden), ..row });
        }
        Ok(results)
    }

    /// A part of K on each device.
    fn split<I: Spread>(&self, extents: (usize, usize, usize)) -> Result<Vec<Comparison>, Error> {
        let (m, n, k) = extents;
        let count = self.devices.len();
        let names = (format!("split {}, {count} GPUs", I::INPUT.name()), format!("{m}x{n}x{k}"));
        self.bench.step(&format!("{} {}", names.0, names.1));
        let matrices = Matrices::<I>::random(extents);
        let group = DeviceGroup::new(self.ranks, Transport::Collectives)?;
        let made = |pieces| {
            let (a, b) = (|part| matrices.part_of_a(part), |part| matrices.part_of_b(part));
            SplitProduct::<I>::new(&group, extents, I::INPUT, pieces, a, b)
        };
        let (ours, plain) = (made(PIECES)?, made(1)?);
        let mut verdicts = Vec::new();
        self.ranks[0].traffic().take();
        let mut moved = 0;
        for product in [&ours, &plain] {
            product.run()?;
            moved = total(self.ranks[0].traffic());
            let c = product.results()?;
            verdicts.extend(c.iter().enumerate().map(|(rank, c)| matrices.check(product.rows_of(rank), c)));
        }
        let verdict = all_of(verdicts);
        let work = (2.0 * m as f64 * n as f64 * k as f64, "GFLOP/s");
        let run = (&mut || Ok(ours.run()?), &mut || Ok(plain.run()?));
        let row = self.pair(&names, "no overlap", work, run.0, run.1, &verdict)?;
        Ok(vec![Comparison { communicated: Some(moved), ..row }])
    }

    /// Rows on each device, before and after.
    fn transposed(&self, (rows, cols, _): (usize, usize, usize)) -> Result<Vec<Comparison>, Error> {
        let count = self.devices.len();
        let size = format!("{rows}x{cols}");
        self.bench.step(&format!("transpose over devices {size}"));
        let matrix = Random::new(13).units(rows * cols);
        let own_rows = |own: std::ops::Range<usize>| matrix[own.start * cols..own.end * cols].to_vec();
        let copies = DeviceGroup::new(self.ranks, Transport::CopyEngines)?;
        let collectives = DeviceGroup::new(self.ranks, Transport::Collectives)?;
        let mut ours = Transpose::new(&copies, (rows, cols), own_rows)?;
        let mut nccl = Transpose::new(&collectives, (rows, cols), own_rows)?;
        let expected = transposed(&matrix, rows, cols);
        let mut verdicts = Vec::new();
        for transpose in [&mut ours, &mut nccl] {
            transpose.run()?;
            let results = transpose.results()?;
            verdicts.extend(results.iter().enumerate().map(|(rank, result)| {
                let own = shares(cols, count, rank);
                exact(result, &expected[own.start * rows..own.end * rows])
            }));
        }
        let verdict = all_of(verdicts);
        let moved = ours.bytes();
        let mut results = Vec::new();
        let names = (format!("transpose f32, {count} GPUs"), size.clone());
        let work = (2.0 * (rows * cols * 4) as f64, "GB/s");
        let runs = (&mut || Ok(ours.run()?), &mut || Ok(nccl.run()?));
        results.push(self.pair(&names, "NCCL", work, runs.0, runs.1, &verdict)?);
        // NCCL's own exchange leaves pieces one behind the other, ours puts them where they belong.
        let part = moved / 4 / (count * (count - 1)).max(1);
        let mut buffers = Vec::new();
        for device in self.devices {
            let make = || device.zeroed::<f32>(part * count);
            buffers.push((make()?, make()?));
        }
        let mut all_to_all = || {
            let ours = self.ranks.iter().zip(&mut buffers);
            let calls = ours.map(|(rank, (send, receive))| rank.all_to_all(&*send, receive));
            let calls = calls.collect::<Result<Vec<_>, _>>()?;
            // SAFETY: the buffers outlive the measurement, which waits for the devices, and nothing else uses them.
            Ok(unsafe { together_async(calls) }?)
        };
        let names = (format!("exchange f32, {count} GPUs"), size);
        let work = (moved as f64, "GB/s");
        results.push(self.pair(
            &names,
            "NCCL all-to-all",
            work,
            &mut || Ok(ours.exchange()?),
            &mut all_to_all,
            &verdict,
        )?);
        results.iter_mut().for_each(|row| row.communicated = Some(moved as u64));
        Ok(results)
    }

    /// A pair, measured in turn; which goes first changes with every pair.
    fn pair(
        &self,
        (kernel, size): &(String, String),
        against: &'static str,
        (work, unit): (f64, &'static str),
        ours: &mut Run<'_>,
        other: &mut Run<'_>,
        verdict: &Verdict,
    ) -> Result<Comparison, Error> {
        self.bench.step(&format!("{kernel} {size} against {against}"));
        let plan = self.bench.plan;
        // The first loads code, the second says how many make a sample so long that the wait at its end, some 10 µs, is nothing.
        let enough = |run: &mut Run<'_>| {
            self.sample(run, 1)?;
            Ok::<_, Error>(((4.0 * plan.sample_ms / self.sample(run, 1)?).ceil() as usize).clamp(1, 200))
        };
        let runs = [enough(ours)?, enough(other)?];
        let warm = Instant::now();
        while warm.elapsed().as_secs_f64() * 1e3 < plan.warm_up_ms {
            self.sample(ours, runs[0])?;
            self.sample(other, runs[1])?;
        }
        let begun = Instant::now();
        let mut pairs = Vec::new();
        while pairs.len() < plan.pairs && (pairs.len() < FEWEST || begun.elapsed().as_secs_f64() < ENOUGH) {
            pairs.push(if pairs.len().is_multiple_of(2) {
                let first = self.sample(ours, runs[0])?;
                (first, self.sample(other, runs[1])?)
            } else {
                let first = self.sample(other, runs[1])?;
                (self.sample(ours, runs[0])?, first)
            });
        }
        let (ours, others): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let none = || Error::Size("a pair needs samples".into());
        let (ours, other) = (Times::of(&ours).ok_or_else(none)?, Times::of(&others).ok_or_else(none)?);
        Ok(Comparison {
            suite: "devices",
            kernel: kernel.clone(),
            size: size.clone(),
            against,
            rate: work / ours.median / 1e6,
            unit,
            ours_ms: ours,
            other_ms: other,
            speed_ratio: SpeedRatio::of_pairs(&pairs).ok_or_else(none)?,
            share_of_limit: None,
            communicated: None,
            hidden: None,
            sm_mhz: self.bench.sm_mhz(),
            ok: verdict.ok,
            checked: verdict.how.clone(),
        })
    }

    /// The median time of a run.
    fn median(&self, run: &mut Run<'_>) -> Result<f64, Error> {
        self.sample(run, 1)?;
        let samples = (0..FEWEST).map(|_| self.sample(run, 2)).collect::<Result<Vec<f64>, _>>()?;
        Ok(Times::of(&samples).map_or(0.0, |times| times.median))
    }

    /// Milliseconds of a run, the mean of `runs` one after the other.
    fn sample(&self, run: &mut Run<'_>, runs: usize) -> Result<f64, Error> {
        let begun = Instant::now();
        for _ in 0..runs {
            run()?;
        }
        for device in self.devices {
            device.enter()?;
            device.synchronize()?;
        }
        Ok(begun.elapsed().as_secs_f64() * 1e3 / runs as f64)
    }
}

/// The timed call: it puts one run on the devices' streams.
type Run<'r> = dyn FnMut() -> Result<(), Error> + 'r;

/// All bytes counted since they were taken last.
fn total(traffic: &Traffic) -> u64 {
    traffic.take().values().sum()
}
