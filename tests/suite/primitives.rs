//! The primitives, for every type and at awkward lengths and places, against exact or f64 results.

use blocks::own::product_of_all;
use cust::memory::DeviceCopy;
use host::data::Random;
use kernels_gpu::base::primitives::reduce::Reduced;
use warpsmith_kernels::primitives::{ArgMax, ArgMin, Element, Found, Max, Min, Operation, Primitives, Sum};
use warpsmith_launch::{Bf16, BufferSlice, F16};

use crate::Case;

/// Lengths: none, around a warp, around a block, around the loads of a thread, and no multiple of anything.
const LENGTHS: [usize; 9] = [0, 1, 31, 33, 511, 2048, 2053, 70_000, 1_000_003];

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for len in LENGTHS {
        cases.push(Case::new(format!("primitives::reduce::{len}"), move |device| {
            let primitives = Primitives::new(device);
            let mut random = Random::new(len as u64);
            let units = random.units(len + 3);
            let bits: Vec<u64> =
                units.iter().map(|x| u64::from(x.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            for begin in [0, 1, 3] {
                integers(
                    &primitives,
                    begin,
                    &bits.iter().map(|x| *x as u32).collect::<Vec<_>>(),
                    u32::wrapping_add,
                )?;
                integers(
                    &primitives,
                    begin,
                    &bits.iter().map(|x| *x as i32).collect::<Vec<_>>(),
                    i32::wrapping_add,
                )?;
                integers(&primitives, begin, &bits, u64::wrapping_add)?;
                integers(
                    &primitives,
                    begin,
                    &bits.iter().map(|x| *x as i64).collect::<Vec<_>>(),
                    i64::wrapping_add,
                )?;
                floats(&primitives, begin, &units, f64::from, f64::from)?;
                floats(
                    &primitives,
                    begin,
                    &units.iter().map(|&x| f64::from(x)).collect::<Vec<_>>(),
                    |x| x,
                    |x| x,
                )?;
                floats(
                    &primitives,
                    begin,
                    &units.iter().map(|&x| F16(half::f16::from_f32(x))).collect::<Vec<_>>(),
                    |x| x.0.to_f64(),
                    f64::from,
                )?;
                floats(
                    &primitives,
                    begin,
                    &units.iter().map(|&x| Bf16(half::bf16::from_f32(x))).collect::<Vec<_>>(),
                    |x| x.0.to_f64(),
                    f64::from,
                )?;
            }
            Ok(())
        }));
    }
    cases.push(Case::new("primitives::reduce::of_an_operation_of_ones_own", |device| {
        let numbers: Vec<u32> = Random::new(9).units(100_001).iter().map(|x| x.to_bits()).collect();
        let mut product = device.upload(&[0u32])?;
        let (primitives, numbers_there) = (Primitives::new(device), device.upload(&numbers)?);
        // SAFETY: a kernel of `reduction!` over `u32`, compiled to these levels.
        unsafe {
            primitives.reduce_by::<product_of_all, _, _, _>(
                &crate::blocks::LEVELS,
                &numbers_there,
                &mut product,
            )?;
        }
        let expected = numbers.iter().fold(1u64, |product, x| product * u64::from(x % 65_521) % 65_521);
        let got = device.download(&product)?[0];
        anyhow::ensure!(u64::from(got) == expected, "{got} for {expected}");
        Ok(())
    }));
    cases.push(Case::new("primitives::reduce::nan_and_room", |device| {
        let primitives = Primitives::new(device);
        let x = device.upload(&[f32::NAN, 2.0, f32::NAN, 2.0, -1.0])?;
        anyhow::ensure!(reduced(&primitives, Max, x.slice(..), 0.0f32)? == 2.0);
        anyhow::ensure!(
            reduced(&primitives, ArgMax, x.slice(..), Found::new(0.0f32, 0))? == Found::new(2.0, 1)
        );
        anyhow::ensure!(
            reduced(&primitives, ArgMin, x.slice(..), Found::new(0.0f32, 0))? == Found::new(-1.0, 4)
        );
        let none = reduced(&primitives, ArgMin, x.slice(..1), Found::new(0.0f32, 0))?;
        anyhow::ensure!(none.index() == u64::MAX, "{none:?}");
        let refused = primitives.reduce(Sum, &x, &mut device.zeroed::<f32>(0)?).unwrap_err().to_string();
        anyhow::ensure!(refused.contains("room for 1 element, its buffer has 0"), "{refused}");
        Ok(())
    }));
    cases
}

/// The value of elements by an operation.
fn reduced<O, T, V>(
    primitives: &Primitives<'_>,
    operation: O,
    from: BufferSlice<'_, T>,
    start: V,
) -> anyhow::Result<V>
where
    T: Element<Device: Reduced<O>>,
    V: DeviceCopy + 'static,
    O: Operation<T::Device, Value = V>,
{
    let mut to = primitives.device().upload(&[start])?;
    primitives.reduce(operation, from, &mut to)?;
    Ok(primitives.device().download(&to)?[0])
}

/// All reductions of integers are exact.
fn integers<T>(
    primitives: &Primitives<'_>,
    begin: usize,
    numbers: &[T],
    add: fn(T, T) -> T,
) -> anyhow::Result<()>
where
    T: Element<Device = T> + Ord + Default + std::fmt::Debug + 'static,
    T: Reduced<Sum> + Reduced<Min> + Reduced<Max> + Reduced<ArgMin> + Reduced<ArgMax>,
    Sum: Operation<T, Value = T>,
    Min: Operation<T, Value = T>,
    Max: Operation<T, Value = T>,
    ArgMin: Operation<T, Value = Found<T>>,
    ArgMax: Operation<T, Value = Found<T>>,
{
    let buffer = primitives.device().upload(numbers)?;
    let (part, len) = (&numbers[begin..], numbers.len() - 3);
    let (part, from) = (&part[..len], || buffer.slice(begin..begin + len));
    let sum = reduced(primitives, Sum, from(), T::default())?;
    let expected = part.iter().copied().fold(T::default(), add);
    anyhow::ensure!(sum == expected, "sum of {len} from {begin}: {sum:?} for {expected:?}");
    let (min, max) =
        (reduced(primitives, Min, from(), T::default())?, reduced(primitives, Max, from(), T::default())?);
    let found = |at: usize| Found::new(part[at], at as u64);
    let start = Found::new(T::default(), 0);
    let (first, last) =
        (reduced(primitives, ArgMin, from(), start)?, reduced(primitives, ArgMax, from(), start)?);
    if let (Some(least), Some(greatest)) =
        ((0..len).min_by_key(|&i| part[i]), (0..len).rev().max_by_key(|&i| part[i]))
    {
        let (least, greatest) = (found(least), found(greatest));
        anyhow::ensure!((min, max) == (least.value, greatest.value), "extremes of {len}: {min:?} {max:?}");
        anyhow::ensure!(
            (first, last) == (least, greatest),
            "{len}: {first:?} {last:?} for {least:?} {greatest:?}"
        );
    } else {
        anyhow::ensure!((first.index(), last.index()) == (u64::MAX, u64::MAX), "none: {first:?} {last:?}");
    }
    Ok(())
}

/// Sums of floats are near, extremes exact.
fn floats<T, V>(
    primitives: &Primitives<'_>,
    begin: usize,
    numbers: &[T],
    exact: fn(T) -> f64,
    got: fn(V) -> f64,
) -> anyhow::Result<()>
where
    T: Element<Device: Reduced<Sum> + Reduced<Max> + Reduced<ArgMin>>,
    V: DeviceCopy + Default + 'static,
    Sum: Operation<T::Device, Value = V>,
    Max: Operation<T::Device, Value = V>,
    ArgMin: Operation<T::Device, Value = Found<V>>,
{
    let buffer = primitives.device().upload(numbers)?;
    let len = numbers.len() - 3;
    let from = || buffer.slice(begin..begin + len);
    let part: Vec<f64> = numbers[begin..][..len].iter().map(|&x| exact(x)).collect();
    let sum = got(reduced(primitives, Sum, from(), V::default())?);
    let (expected, all): (f64, f64) = (part.iter().sum(), part.iter().map(|x| x.abs()).sum());
    anyhow::ensure!((sum - expected).abs() <= 2e-6 * all, "sum of {len} from {begin}: {sum} for {expected}");
    let max = got(reduced(primitives, Max, from(), V::default())?);
    let expected = part.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    anyhow::ensure!(max == expected, "maximum of {len}: {max} for {expected}");
    let least = reduced(primitives, ArgMin, from(), Found::new(V::default(), 0))?;
    let expected = (0..len).min_by(|&a, &b| part[a].total_cmp(&part[b]));
    let expected = expected.map_or(u64::MAX, |at| at as u64);
    anyhow::ensure!(least.index() == expected, "least of {len}: {} for {expected}", least.index());
    Ok(())
}
