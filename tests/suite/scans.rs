//! Scans, for every type and operation, at awkward lengths and places, against a loop.

use blocks::own::maps_so_far;
use cust::memory::DeviceCopy;
use host::data::Random;
use kernels_gpu::base::primitives::scan::scan;
use kernels_gpu::primitives::scan::Signature;
use warpsmith_kernels::primitives::{Element, Max, Min, Operation, Primitives, Sum};
use warpsmith_launch::Kernel;

use crate::Case;

/// Lengths: none, around a warp, around a thread's and a block's elements, and many tiles.
const LENGTHS: [usize; 9] = [0, 1, 31, 33, 511, 8192, 8197, 70_000, 1_000_003];

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for len in LENGTHS {
        cases.push(Case::new(format!("primitives::scan::{len}"), move |device| {
            let primitives = Primitives::new(device);
            let mut random = Random::new(len as u64);
            let words: Vec<u64> = random.units(len + 3).iter().map(|x| mixed(x.to_bits())).collect();
            // Small whole numbers, whose sums are exact in any order, so that all types have one expected value.
            let small: Vec<i64> = words.iter().map(|x| (x >> 60) as i64 - 7).collect();
            let near: Vec<f32> = small.iter().map(|&x| x as f32).collect();
            let far: Vec<f64> = small.iter().map(|&x| x as f64 / 4.0).collect();
            for (begin, at) in [(0, 0), (1, 1), (3, 2)] {
                let narrow: Vec<u32> = words.iter().map(|&x| x as u32).collect();
                every(&primitives, (begin, at), &narrow, [u32::wrapping_add, u32::min, u32::max])?;
                let signed: Vec<i32> = narrow.iter().map(|&x| x as i32).collect();
                every(&primitives, (begin, at), &signed, [i32::wrapping_add, i32::min, i32::max])?;
                every(&primitives, (begin, at), &words, [u64::wrapping_add, u64::min, u64::max])?;
                every(&primitives, (begin, at), &small, [i64::wrapping_add, i64::min, i64::max])?;
                every(&primitives, (begin, at), &near, [|a, b| a + b, f32::min, f32::max])?;
                every(&primitives, (begin, at), &far, [|a, b| a + b, f64::min, f64::max])?;
            }
            Ok(())
        }));
    }
    cases.push(Case::new("primitives::scan::of_an_operation_of_ones_own", |device| {
        let primitives = Primitives::new(device);
        let numbers: Vec<u32> =
            Random::new(9).units(100_001).iter().map(|x| mixed(x.to_bits()) as u32).collect();
        let (from, mut to) = (device.upload(&numbers)?, device.zeroed::<[u32; 2]>(numbers.len())?);
        // SAFETY: a kernel of `scan!` over `u32`, compiled to these levels.
        unsafe {
            primitives.scan_by::<maps_so_far, _, _, _>(&crate::blocks::LEVELS, false, &from, &mut to)?;
        }
        // What all maps so far make of 0 and of 1, one after the other.
        let (mut of_zero, mut of_one) = (0u32, 1u32);
        for (i, ([a, b], x)) in device.download(&to)?.into_iter().zip(numbers).enumerate() {
            let map = |y: u32| (x | 1).wrapping_mul(y).wrapping_add(x.wrapping_add(i as u32));
            (of_zero, of_one) = (map(of_zero), map(of_one));
            anyhow::ensure!((b, a.wrapping_add(b)) == (of_zero, of_one), "{i}: {a} x + {b}");
        }
        Ok(())
    }));
    cases.push(Case::new("primitives::scan::room", |device| {
        let (x, primitives) = (device.upload(&[1u32; 5])?, Primitives::new(device));
        let refused =
            primitives.inclusive_scan(Sum, &x, &mut device.zeroed::<u32>(4)?).unwrap_err().to_string();
        anyhow::ensure!(refused.contains("room for 5 elements, its buffer has 4"), "{refused}");
        Ok(())
    }));
    cases
}

/// A word with all its bits in use.
fn mixed(bits: u32) -> u64 {
    u64::from(bits).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Both scans by all operations of the elements from `begin` on, to where `at` elements are kept before.
fn every<T>(
    primitives: &Primitives<'_>,
    place: (usize, usize),
    numbers: &[T],
    [add, min, max]: [fn(T, T) -> T; 3],
) -> anyhow::Result<()>
where
    T: Element<Device = T> + DeviceCopy + Default + PartialEq + std::fmt::Debug + 'static,
    Sum: Operation<T, Value = T>,
    Min: Operation<T, Value = T>,
    Max: Operation<T, Value = T>,
    scan<T, Sum>: Kernel<Signature = Signature<T, T>> + 'static,
    scan<T, Min>: Kernel<Signature = Signature<T, T>> + 'static,
    scan<T, Max>: Kernel<Signature = Signature<T, T>> + 'static,
{
    one(primitives, place, numbers, Sum, add)?;
    one(primitives, place, numbers, Min, min)?;
    one(primitives, place, numbers, Max, max)
}

/// Both scans by an operation.
fn one<T, O>(
    primitives: &Primitives<'_>,
    (begin, at): (usize, usize),
    numbers: &[T],
    operation: O,
    combine: fn(T, T) -> T,
) -> anyhow::Result<()>
where
    T: Element<Device = T> + DeviceCopy + Default + PartialEq + std::fmt::Debug + 'static,
    O: Operation<T, Value = T> + Copy,
    scan<T, O>: Kernel<Signature = Signature<T, T>> + 'static,
{
    let device = primitives.device();
    let (len, from) = (numbers.len() - 3, device.upload(numbers)?);
    // What stands around the result stays.
    let mut to = device.upload(&vec![numbers[0]; len + 4])?;
    let mut all = O::identity();
    let of_all: Vec<T> = numbers[begin..][..len]
        .iter()
        .map(|&x| {
            all = combine(all, x);
            all
        })
        .collect();
    let around = |values: &mut dyn Iterator<Item = T>| -> Vec<T> {
        let kept = |n| std::iter::repeat_n(numbers[0], n);
        kept(at).chain(values).chain(kept(4 - at)).collect()
    };
    primitives.inclusive_scan(operation, from.slice(begin..begin + len), to.slice_mut(at..at + len))?;
    same("inclusive", &device.download(&to)?, &around(&mut of_all.iter().copied()))?;
    primitives.exclusive_scan(operation, from.slice(begin..begin + len), to.slice_mut(at..at + len))?;
    let mut before = std::iter::once(O::identity()).chain(of_all.iter().copied()).take(len);
    same("exclusive", &device.download(&to)?, &around(&mut before))
}

/// Fails at the first difference.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: &[T], expected: &[T]) -> anyhow::Result<()> {
    let at = got.iter().zip(expected).position(|(got, expected)| got != expected);
    let Some(at) = at else { return Ok(()) };
    anyhow::bail!("{what}, {}: {:?} for {:?} at {at}", got.len() - 4, got[at], expected[at])
}
