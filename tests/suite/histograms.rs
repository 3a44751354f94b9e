//! Histograms of every type, against a search for the bin whose bounds an element lies between.

use std::fmt::Debug;
use std::ops::Range;

use cust::memory::DeviceCopy;
use host::data::Random;
use kernels_gpu::base::primitives::histogram::histogram;
use kernels_gpu::primitives::histogram::{Binned, Signature};
use warpsmith_kernels::primitives::{Element, Primitives};
use warpsmith_launch::{HostType, Kernel};

use crate::Case;

/// Lengths: none, around a warp, and no multiple of anything.
const LENGTHS: [usize; 6] = [0, 1, 31, 33, 20_011, 1_000_003];

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for len in LENGTHS {
        cases.push(Case::new(format!("primitives::histogram::{len}"), move |device| {
            let primitives = Primitives::new(device);
            let units = Random::new(len as u64).units(len + 3);
            let words: Vec<u64> =
                units.iter().map(|x| u64::from(x.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
            // One bin, fewer than copies have room for, as many as fill shared memory, more than that.
            for (begin, bins) in [(0, 256), (1, 1), (3, 7), (2, 4096), (1, 20_000)] {
                let case = (begin, bins);
                let bytes: Vec<u8> = words.iter().map(|&x| (x >> 50) as u8).collect();
                whole(&primitives, case, &bytes, 0..256)?;
                whole(&primitives, case, &bytes, 7..201)?;
                let narrow: Vec<u32> = words.iter().map(|&x| (x >> 30) as u32).collect();
                whole(&primitives, case, &narrow, 1000..4_000_000_000)?;
                let signed: Vec<i32> = narrow.iter().map(|&x| x as i32).collect();
                whole(&primitives, case, &signed, -2_000_000_000..2_100_000_000)?;
                whole(&primitives, case, &words, 5..u64::MAX)?;
                let long: Vec<i64> = words.iter().map(|&x| x as i64).collect();
                whole(&primitives, case, &long, i64::MIN..i64::MAX - 12345)?;
                // A power of two of bins between whole bounds: exact in floats.
                if bins == 256 || bins == 4096 {
                    let near = |x: &f32| x * 5.0 - 1.0;
                    floats(&primitives, case, &units.iter().map(near).collect::<Vec<f32>>(), 0.0..2.0)?;
                    let far = |x: &f32| f64::from(*x) * 5.0 - 1.0;
                    floats(&primitives, case, &units.iter().map(far).collect::<Vec<f64>>(), 0.0..2.0)?;
                }
            }
            Ok(())
        }));
    }
    cases.push(Case::new("primitives::histogram::bounds_and_nan", |device| {
        let (primitives, mut to) = (Primitives::new(device), device.zeroed::<u64>(3)?);
        let x = device.upload(&[f32::NAN, 1.0, 2.0, f32::INFINITY, -0.0, 3.999, 4.0, -1.0])?;
        primitives.histogram(1.0..4.0, &x, &mut to)?;
        anyhow::ensure!(device.download(&to)? == [1, 1, 1]);
        let refused = primitives.histogram(1.0..f32::NAN, &x, &mut to).unwrap_err().to_string();
        anyhow::ensure!(refused.contains("1.0..NaN"), "{refused}");
        for bounds in [f32::MIN..f32::MAX, 0.0..1e-45] {
            let refused = primitives.histogram(bounds, &x, &mut to).unwrap_err().to_string();
            anyhow::ensure!(refused.contains("cannot be divided"), "{refused}");
        }
        let refused = primitives.histogram(0.0..1.0, &x, &mut device.zeroed(0)?).unwrap_err().to_string();
        anyhow::ensure!(refused.contains("room for 1 element, its buffer has 0"), "{refused}");
        Ok(())
    }));
    cases
}

/// A histogram of whole numbers: element `x` lies in bin `i` if `i * range <= (x - start) * bins < (i + 1) * range`.
fn whole<T, B>(
    primitives: &Primitives<'_>,
    case: (usize, usize),
    numbers: &[T],
    bounds: Range<B>,
) -> anyhow::Result<()>
where
    T: Element<Device: Binned<Bound = B>> + DeviceCopy + Into<i128> + 'static,
    B: HostType<B> + PartialOrd + Debug + Into<i128> + 'static,
    histogram<T::Device>: Kernel<Signature = Signature<T::Device, B>> + 'static,
{
    let (start, end): (i128, i128) = (bounds.start.into(), bounds.end.into());
    counted(primitives, case, numbers, bounds, |x| {
        let x: i128 = x.into();
        (start <= x && x < end).then(|| ((x - start) * case.1 as i128 / (end - start)) as usize)
    })
}

/// A histogram of floats whose bins are a power of two wide.
fn floats<T>(
    primitives: &Primitives<'_>,
    case: (usize, usize),
    numbers: &[T],
    bounds: Range<T>,
) -> anyhow::Result<()>
where
    T: Element<Device = T> + Binned<Bound = T> + DeviceCopy + PartialOrd + Debug + Into<f64> + 'static,
    histogram<T>: Kernel<Signature = Signature<T, T>> + 'static,
{
    let (start, end): (f64, f64) = (bounds.start.into(), bounds.end.into());
    counted(primitives, case, numbers, bounds, |x| {
        let x: f64 = x.into();
        (start <= x && x < end).then(|| ((x - start) / (end - start) * case.1 as f64) as usize)
    })
}

/// Compares a histogram with the bins that a function tells.
fn counted<T, B>(
    primitives: &Primitives<'_>,
    (begin, bins): (usize, usize),
    numbers: &[T],
    bounds: Range<B>,
    bin: impl Fn(T) -> Option<usize>,
) -> anyhow::Result<()>
where
    T: Element<Device: Binned<Bound = B>> + DeviceCopy + 'static,
    B: HostType<B> + PartialOrd + Debug + 'static,
    histogram<T::Device>: Kernel<Signature = Signature<T::Device, B>> + 'static,
{
    let device = primitives.device();
    let (len, from) = (numbers.len() - 3, device.upload(numbers)?);
    // The old content counts for nothing.
    let mut to = device.upload(&vec![7u64; bins])?;
    primitives.histogram(bounds.start..bounds.end, from.slice(begin..begin + len), &mut to)?;
    let mut expected = vec![0u64; bins];
    numbers[begin..][..len].iter().filter_map(|&x| bin(x)).for_each(|bin| expected[bin] += 1);
    let got = device.download(&to)?;
    let differs = (0..bins).find(|&bin| got[bin] != expected[bin]);
    if let Some(bin) = differs {
        anyhow::bail!("{len} in {bins}: {} for {} in bin {bin}", got[bin], expected[bin]);
    }
    Ok(())
}
