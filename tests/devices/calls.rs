//! Each call, for several types and lengths; expected values are computed from the ranks' numbers alone.

use anyhow::{Context, ensure};
use cust::memory::DeviceCopy;
use warpsmith_collectives::{Call, Communicator, Element, Error, Reduction, parts, together, together_async};
use warpsmith_launch::{Bf16, Buffer};

use crate::Case;

pub const CASES: &[Case] = &[
    ("all_reduce", all_reduce),
    ("all_gather", all_gather),
    ("reduce_scatter", reduce_scatter),
    ("broadcast", broadcast),
    ("all_to_all", all_to_all),
    ("send_and_receive", send_and_receive),
    ("calls_follow_what_is_on_the_stream", calls_follow_what_is_on_the_stream),
    ("a_call_waits_for_its_result", a_call_waits_for_its_result),
    ("traffic", traffic),
    ("wrong_buffers", wrong_buffers),
];

/// Awkward lengths: none, one, less than there are ranks, odd, more than a block of anything.
const LENGTHS: [usize; 5] = [0, 1, 3, 1003, 4096];

/// A number that tells rank and index, small enough to be exact in all types and sums.
fn number(rank: usize, index: usize) -> i64 {
    ((rank * 3 + index * 7 + 1) % 11) as i64
}

/// A buffer of each of this process's ranks, on its device.
fn buffers<T: DeviceCopy>(
    ranks: &[Communicator<'_>],
    values: impl Fn(usize) -> Vec<T>,
) -> anyhow::Result<Vec<Buffer<T>>> {
    ranks.iter().map(|rank| Ok(rank.device().upload(&values(rank.rank()))?)).collect()
}

/// Makes the ranks' calls together.
fn make<'a>(calls: impl IntoIterator<Item = Result<Call<'a>, Error>>) -> anyhow::Result<()> {
    Ok(together(calls.into_iter().collect::<Result<Vec<_>, _>>()?)?)
}

/// Compares what each rank has with what it should have.
fn compare<T: DeviceCopy + Default + PartialEq + std::fmt::Debug>(
    ranks: &[Communicator<'_>],
    buffers: &[Buffer<T>],
    expected: impl Fn(usize) -> Vec<T>,
) -> anyhow::Result<()> {
    for (rank, buffer) in ranks.iter().zip(buffers) {
        rank.synchronize()?;
        let (is, should) = (buffer.to_vec()?, expected(rank.rank()));
        let wrong = (0..should.len()).find(|&i| is[i] != should[i]);
        ensure!(
            wrong.is_none(),
            "rank {} has {:?} at {}, and should have {:?}",
            rank.rank(),
            is[wrong.unwrap_or(0)],
            wrong.unwrap_or(0),
            should[wrong.unwrap_or(0)]
        );
    }
    Ok(())
}

fn all_reduce(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    fn of<T>(ranks: &[Communicator<'_>], how: Reduction, of: fn(i64) -> T) -> anyhow::Result<()>
    where
        T: Element + Default + PartialEq + std::fmt::Debug,
    {
        let size = ranks[0].size();
        for length in LENGTHS {
            let send = buffers(ranks, |rank| (0..length).map(|i| of(number(rank, i))).collect())?;
            let mut receive = buffers(ranks, |_| vec![of(99); length])?;
            let calls = ranks.iter().zip(&send).zip(&mut receive);
            make(calls.map(|((rank, send), receive)| rank.all_reduce(send, receive, how)))?;
            let expected = |i: usize| {
                let all = (0..size).map(|rank| number(rank, i));
                of(match how {
                    Reduction::Sum => all.sum(),
                    Reduction::Product => all.product(),
                    Reduction::Max => all.max().unwrap_or(0),
                    Reduction::Min => all.min().unwrap_or(0),
                })
            };
            let result = compare(ranks, &receive, |_| (0..length).map(expected).collect());
            result.with_context(|| format!("{how:?} of {length} {:?}", T::TYPE))?;
            // In place, once more: the sum of equal sums.
            if how == Reduction::Max {
                make(ranks.iter().zip(&mut receive).map(|(rank, x)| rank.all_reduce_in_place(x, how)))?;
                compare(ranks, &receive, |_| (0..length).map(expected).collect()).context("in place")?;
            }
        }
        Ok(())
    }
    of(ranks, Reduction::Sum, |x| x as f32)?;
    of(ranks, Reduction::Sum, |x| Bf16(half::bf16::from_f32(x as f32)))?;
    of(ranks, Reduction::Sum, |x| x as f64)?;
    of(ranks, Reduction::Sum, |x| x as u8)?;
    of(ranks, Reduction::Product, |x| x)?;
    of(ranks, Reduction::Max, |x| x as i32)?;
    of(ranks, Reduction::Min, |x| x as f32)
}

fn all_gather(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    let size = ranks[0].size();
    for length in LENGTHS {
        let of = |rank: usize| (0..length).map(move |i| number(rank, i) as i32);
        let send = buffers(ranks, |rank| of(rank).collect())?;
        let mut receive = buffers(ranks, |_| vec![-1; length * size])?;
        make(ranks.iter().zip(&send).zip(&mut receive).map(|((rank, s), r)| rank.all_gather(s, r)))?;
        compare(ranks, &receive, |_| (0..size).flat_map(of).collect())?;
    }
    Ok(())
}

fn reduce_scatter(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    let size = ranks[0].size();
    for length in LENGTHS {
        let send = buffers(ranks, |rank| (0..length * size).map(|i| number(rank, i) as f32).collect())?;
        let mut receive = buffers(ranks, |_| vec![-1.0; length])?;
        let calls = ranks.iter().zip(&send).zip(&mut receive);
        make(calls.map(|((rank, s), r)| rank.reduce_scatter(s, r, Reduction::Sum)))?;
        let sum = |i| (0..size).map(|rank| number(rank, i) as f32).sum();
        compare(ranks, &receive, |rank| (rank * length..(rank + 1) * length).map(sum).collect())?;
    }
    Ok(())
}

fn broadcast(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    for root in 0..ranks[0].size() {
        let of = |rank: usize| (0..1003).map(|i| number(rank, i) as u64).collect();
        let mut x = buffers(ranks, of)?;
        make(ranks.iter().zip(&mut x).map(|(rank, x)| rank.broadcast(x, root)))?;
        compare(ranks, &x, |_| of(root))?;
    }
    Ok(())
}

fn all_to_all(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    let size = ranks[0].size();
    for length in LENGTHS {
        let part = |from: usize, to: usize| (0..length).map(move |i| number(from * size + to, i) as u8);
        let send = buffers(ranks, |rank| (0..size).flat_map(|to| part(rank, to)).collect())?;
        let mut receive = buffers(ranks, |_| vec![255; length * size])?;
        make(ranks.iter().zip(&send).zip(&mut receive).map(|((rank, s), r)| rank.all_to_all(s, r)))?;
        compare(ranks, &receive, |rank| (0..size).flat_map(|from| part(from, rank)).collect())?;
    }
    Ok(())
}

fn send_and_receive(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    let size = ranks[0].size();
    // Around the ring, with as many elements as the sender's number asks for; and twice, so that the order counts.
    let length = |rank: usize| 10 + rank;
    for round in 0..2 {
        let of =
            |rank: usize| (0..length(rank)).map(|i| number(rank + round, i) as f64).collect::<Vec<f64>>();
        let before = |rank: usize| (rank + size - 1) % size;
        let send = buffers(ranks, of)?;
        let mut receive = buffers(ranks, |rank| vec![-1.0; length(before(rank))])?;
        let mut calls = Vec::new();
        for ((rank, send), receive) in ranks.iter().zip(&send).zip(&mut receive) {
            calls.push(rank.send(send, (rank.rank() + 1) % size));
            calls.push(rank.receive(receive, before(rank.rank())));
        }
        make(calls)?;
        compare(ranks, &receive, |rank| of(before(rank)))?;
    }
    Ok(())
}

/// What was put on the stream before a call is done before it, and what comes behind it is done after it: nothing waits on the
/// host.
fn calls_follow_what_is_on_the_stream(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    let size = ranks[0].size();
    let mut x = buffers(ranks, |_| vec![0u8; 1 << 16])?;
    let mut gathered = buffers(ranks, |_| vec![0u8; size << 16])?;
    for (rank, x) in ranks.iter().zip(&mut x) {
        rank.device().enter()?;
        // SAFETY: the buffer lives until the stream has been waited for.
        unsafe { x.as_cust_mut().set_8_async(rank.rank() as u8 + 1, rank.device().stream().cust())? };
    }
    let calls = ranks.iter().zip(&x).zip(&mut gathered).map(|((rank, x), all)| rank.all_gather(x, all));
    // SAFETY: as above; what follows is behind the calls on their streams.
    unsafe { together_async(calls.collect::<Result<Vec<_>, _>>()?)? };
    for (rank, x) in ranks.iter().zip(&mut x) {
        rank.device().enter()?;
        // SAFETY: as above. No rank may see this one.
        unsafe { x.as_cust_mut().set_8_async(99, rank.device().stream().cust())? };
    }
    compare(ranks, &gathered, |_| (0..size << 16).map(|i| (i >> 16) as u8 + 1).collect())
}

/// The buffers are borrowed no longer than the call takes.
fn a_call_waits_for_its_result(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    let mut x = buffers(ranks, |_| vec![1.0f32; 100])?;
    for rank in ranks {
        rank.device().stream().on_host(|| std::thread::sleep(std::time::Duration::from_millis(100)))?;
    }
    make(ranks.iter().zip(&mut x).map(|(rank, x)| rank.all_reduce_in_place(x, Reduction::Sum)))?;
    for rank in ranks {
        ensure!(rank.device().stream().is_done()?, "rank {} still has work on its stream", rank.rank());
    }
    Ok(())
}

fn traffic(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    let (size, length) = (ranks[0].size(), 1003);
    ranks.iter().for_each(|rank| drop(rank.traffic().take()));
    let mut x = buffers(ranks, |_| vec![1.0f32; length])?;
    make(ranks.iter().zip(&mut x).map(|(rank, x)| rank.all_reduce_in_place(x, Reduction::Sum)))?;
    let counted = ranks[0].traffic().take();
    // Each link into this process's ranks carries the receiver's part of the sender's, and the sender's sum.
    let part = |rank: usize| parts(length, size, rank).len() as u64 * 4;
    for rank in ranks.iter().map(Communicator::rank) {
        for other in (0..size).filter(|&other| other != rank) {
            let is = counted.get(&(other, rank)).copied().unwrap_or(0);
            ensure!(is == part(rank) + part(other), "{is} bytes from rank {other} to rank {rank}");
        }
    }
    ensure!(counted.len() == ranks.len() * (size - 1), "{} links", counted.len());
    Ok(())
}

fn wrong_buffers(ranks: &[Communicator<'_>]) -> anyhow::Result<()> {
    let rank = &ranks[0];
    let send = rank.device().upload(&[1.0f32; 10])?;
    let mut receive = rank.device().upload(&[1.0f32; 9])?;
    let text = rank.all_reduce(&send, &mut receive, Reduction::Sum).err().map(|error| error.to_string());
    let expected = format!(
        "rank {} cannot all-reduce (Sum) of 10 F32: the buffer that it receives has 9 elements, and 10 are needed",
        rank.rank()
    );
    ensure!(text.as_deref() == Some(&expected), "{text:?}");
    let text = rank.send(&send, rank.size()).err().map(|error| error.to_string()).unwrap_or_default();
    ensure!(text.contains("ranks, which count from 0"), "{text}");
    Ok(())
}
