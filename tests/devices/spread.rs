//! Products and transposes over devices, of sizes that come out even and of those that do not, against float64.

use std::time::Duration;

use anyhow::ensure;
use host::data::{Random, transposed};
use host::spread::{Matrices, Spread};
use host::verify::exact;
use warpsmith_collectives::Communicator;
use warpsmith_distributed::{DeviceGroup, GatheredProduct, SplitProduct, Transport, Transpose, shares};
use warpsmith_launch::Bf16;

use crate::Case;

pub const CASES: &[Case] = &[
    ("gathered_f32", gathered::<f32>),
    ("gathered_bf16", gathered::<Bf16>),
    ("split_f32", split::<f32>),
    ("split_bf16", split::<Bf16>),
    ("transpose", transpose),
    ("bytes_of_a_gathered_product", bytes_of_a_gathered_product),
    ("a_dropped_product_has_ended", a_dropped_product_has_ended),
];

/// Even, awkward, and fewer rows or columns than there are devices.
const SIZES: [(usize, usize, usize); 4] = [(128, 96, 64), (75, 53, 41), (3, 130, 17), (70, 1, 33)];

/// By what data go where all ranks are this process's, and where they are not.
fn transports(ranks: &[Communicator<'_>]) -> &'static [Transport] {
    if ranks.len() == ranks[0].size() {
        &[Transport::CopyEngines, Transport::Collectives]
    } else {
        &[Transport::Collectives]
    }
}

fn gathered<I: Spread>(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    for &transport in transports(ranks) {
        let group = DeviceGroup::new(ranks, transport)?;
        for extents in SIZES {
            let matrices = Matrices::<I>::random(extents);
            let product = GatheredProduct::<I, I::C>::new(
                &group,
                extents,
                (I::INPUT, I::OUTPUT),
                |rows| matrices.rows(rows),
                |columns| matrices.columns(columns),
            )?
            .with_whole()?;
            for overlap in [true, false, true] {
                product.wipe()?;
                if overlap {
                    product.run()?
                } else {
                    product.run_plain()?
                };
                for (rank, c) in ranks.iter().zip(product.results()?) {
                    let verdict = matrices.check(shares(extents.0, rank.size(), rank.rank()), &c);
                    ensure!(
                        verdict.ok,
                        "{extents:?} by {transport:?}, overlap {overlap}: {:?}",
                        verdict.wrong
                    );
                }
            }
        }
    }
    Ok(())
}

fn split<I: Spread>(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    let group = DeviceGroup::new(ranks, Transport::Collectives)?;
    for extents in SIZES {
        let matrices = Matrices::<I>::random(extents);
        for pieces in [1, 3] {
            let (a, b) = (|part| matrices.part_of_a(part), |part| matrices.part_of_b(part));
            let product = SplitProduct::<I>::new(&group, extents, I::INPUT, pieces, a, b)?;
            product.run()?;
            product.run()?;
            for (rank, c) in ranks.iter().zip(product.results()?) {
                let verdict = matrices.check(product.rows_of(rank.rank()), &c);
                ensure!(verdict.ok, "{extents:?} in {pieces} pieces: {:?}", verdict.wrong);
            }
        }
    }
    Ok(())
}

fn transpose(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    for &transport in transports(ranks) {
        let group = DeviceGroup::new(ranks, transport)?;
        for (rows, cols, _) in SIZES {
            let matrix = Random::new(5).units(rows * cols);
            let own = |own: std::ops::Range<usize>| matrix[own.start * cols..own.end * cols].to_vec();
            let mut transpose = Transpose::new(&group, (rows, cols), own)?;
            transpose.run()?;
            let expected = transposed(&matrix, rows, cols);
            for (rank, result) in ranks.iter().zip(transpose.results()?) {
                let own = shares(cols, rank.size(), rank.rank());
                let verdict = exact(&result, &expected[own.start * rows..own.end * rows]);
                ensure!(verdict.ok, "{rows} × {cols} by {transport:?}: {:?}", verdict.wrong);
            }
        }
    }
    Ok(())
}

/// Every device fetches each other one's columns once, and nothing else goes over the links.
fn bytes_of_a_gathered_product(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    let (size, extents) = (ranks[0].size(), (64, 96, 32));
    let matrices = Matrices::<f32>::random(extents);
    for &transport in transports(ranks) {
        let group = DeviceGroup::new(ranks, transport)?;
        let (rows, columns) = (|range| matrices.rows(range), |range| matrices.columns(range));
        let types = (f32::INPUT, f32::OUTPUT);
        let product = GatheredProduct::<f32, f32>::new(&group, extents, types, rows, columns)?;
        ranks.iter().for_each(|rank| drop(rank.traffic().take()));
        product.run()?;
        group.synchronize()?;
        let counted = ranks[0].traffic().take();
        ensure!(counted.len() == ranks.len() * (size - 1), "{transport:?}: {} links", counted.len());
        for ((from, to), bytes) in counted {
            let columns = shares(extents.1, size, from).len();
            ensure!(
                bytes == (columns * extents.2 * 4) as u64,
                "{transport:?}: {bytes} bytes from {from} to {to}"
            );
        }
    }
    Ok(())
}

/// A run that is in flight when its product is dropped reads memory of all devices: none is freed before it has ended.
fn a_dropped_product_has_ended(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    let extents = (64, 96, 32);
    let matrices = Matrices::<f32>::random(extents);
    for &transport in transports(ranks) {
        let group = DeviceGroup::new(ranks, transport)?;
        let (rows, columns) = (|range| matrices.rows(range), |range| matrices.columns(range));
        let product =
            GatheredProduct::<f32, f32>::new(&group, extents, (f32::INPUT, f32::OUTPUT), rows, columns)?;
        // The last rank is behind: its copies have not begun when the first one's memory would be freed.
        let last = ranks[ranks.len() - 1].device();
        last.enter()?;
        last.stream().on_host(|| std::thread::sleep(Duration::from_millis(200)))?;
        product.run()?;
        drop(product);
        for rank in ranks {
            ensure!(rank.device().stream().is_done()?, "{transport:?}: rank {} still runs", rank.rank());
        }
    }
    Ok(())
}
