//! Selections and sorts of every type, against loops and the standard library's stable sort.

use blocks::own::odd_numbers;
use cust::memory::DeviceCopy;
use host::data::Random;
use warpsmith_kernels::primitives::{Primitives, SortKey, SortOrder, SortValue};
use warpsmith_launch::{BufferSlice, BufferSliceMut, Device};

use crate::Case;

/// Lengths: none, around a warp, around a tile, and no multiple of anything.
const LENGTHS: [usize; 8] = [0, 1, 31, 33, 4096, 6149, 70_000, 1_000_003];

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for len in LENGTHS {
        cases.push(Case::new(format!("primitives::select::{len}"), move |device| {
            let words = words(len);
            for begin in [0, 1, 3] {
                let narrow: Vec<u32> = words.iter().map(|&x| x as u32).collect();
                selected(device, begin, &narrow, &words)?;
                selected(device, begin, &words.iter().map(|&x| x as i64).collect::<Vec<_>>(), &words)?;
                selected(device, begin, &words.iter().map(|&x| x as f64).collect::<Vec<_>>(), &words)?;
            }
            Ok(())
        }));
        cases.push(Case::new(format!("primitives::sort::{len}"), move |device| {
            let words = words(len);
            let places: Vec<u32> = (0..words.len() as u32).collect();
            for begin in [0, 1] {
                let narrow: Vec<u32> = words.iter().map(|&x| x as u32).collect();
                sorted(device, begin, &narrow, &places, |key| u64::from(*key))?;
                sorted(device, begin, &words, &words, |key| *key)?;
                // Bits of numbers beyond the ordinary, too.
                let float: Vec<f32> = narrow.iter().map(|&x| f32::from_bits(x)).collect();
                let in_order = |key: &f32| {
                    u64::from(key.to_bits() ^ if key.is_sign_negative() { u32::MAX } else { 1 << 31 })
                };
                sorted(device, begin, &float, &words, |key| in_order(key))?;
                let long: Vec<i64> = words.iter().map(|&x| x as i64).collect();
                sorted(device, begin, &long, &places, |key| (*key as u64) ^ 1 << 63)?;
            }
            let signed: Vec<i32> = words.iter().map(|&x| x as i32 >> 20).collect();
            sorted(device, 1, &signed, &signed, |key| u64::from(*key as u32 ^ 1 << 31))?;
            let double: Vec<f64> = words.iter().map(|&x| f64::from_bits(x)).collect();
            let in_order =
                |key: &f64| key.to_bits() ^ if key.is_sign_negative() { u64::MAX } else { 1 << 63 };
            sorted(device, 0, &double, &words, |key| in_order(key))
        }));
    }
    cases.push(Case::new("primitives::select::by_a_predicate_of_ones_own", |device| {
        let numbers: Vec<u32> = words(50_000).iter().map(|&x| x as u32).collect();
        let (from, primitives) = (device.upload(&numbers)?, Primitives::new(device));
        let (mut to, mut others) =
            (device.zeroed::<u32>(numbers.len())?, device.zeroed::<u32>(numbers.len())?);
        let mut count = device.zeroed::<u64>(1)?;
        // SAFETY: a kernel of `selection!` over `u32`, compiled to these levels.
        unsafe {
            let others = Some(others.slice_mut(..));
            primitives.select_by::<odd_numbers, _, _>(
                &crate::blocks::LEVELS,
                &from,
                &mut to,
                others,
                &mut count,
            )?;
        }
        let (odd, even): (Vec<u32>, Vec<u32>) = numbers.iter().partition(|&x| x % 2 == 1);
        anyhow::ensure!(device.download(&count)? == [odd.len() as u64]);
        anyhow::ensure!(
            device.download(&to)?[..odd.len()] == odd && device.download(&others)?[..even.len()] == even
        );
        Ok(())
    }));
    cases.push(Case::new("primitives::sort::room_and_bits", |device| {
        let (x, primitives) = (device.upload(&[1u32; 5])?, Primitives::new(device));
        let refused = |order: SortOrder, room: usize| -> anyhow::Result<String> {
            Ok(primitives.sort(&order, &x, &mut device.zeroed::<u32>(room)?).unwrap_err().to_string())
        };
        let short = refused(SortOrder::default(), 4)?;
        anyhow::ensure!(short.contains("room for 5 elements, its buffer has 4"), "{short}");
        let beyond = refused(SortOrder { bits: Some(8..33), ..SortOrder::default() }, 5)?;
        anyhow::ensure!(beyond.contains("the bits 8..33 of keys of 4 bytes"), "{beyond}");
        let (mut to, mut count) = (device.zeroed::<u32>(5)?, device.zeroed::<u64>(1)?);
        let flags = device.zeroed::<u8>(4)?;
        let few = primitives.select(&flags, &x, &mut to, &mut count).unwrap_err().to_string();
        anyhow::ensure!(few.contains("5 elements need a flag each, there are 4"), "{few}");
        Ok(())
    }));
    cases
}

/// A type that both selections have kernels of.
trait Selectable: DeviceCopy + PartialEq {
    fn select(
        primitives: &Primitives<'_>,
        flags: BufferSlice<'_, u8>,
        from: BufferSlice<'_, Self>,
        to: BufferSliceMut<'_, Self>,
        others: Option<BufferSliceMut<'_, Self>>,
        count: BufferSliceMut<'_, u64>,
    ) -> anyhow::Result<()>;

    fn unique(
        primitives: &Primitives<'_>,
        from: BufferSlice<'_, Self>,
        to: BufferSliceMut<'_, Self>,
        count: BufferSliceMut<'_, u64>,
    ) -> anyhow::Result<()>;
}

macro_rules! selectable {
    ($($element:ident)*) => {$(
        impl Selectable for $element {
            fn select(
                primitives: &Primitives<'_>,
                flags: BufferSlice<'_, u8>,
                from: BufferSlice<'_, Self>,
                to: BufferSliceMut<'_, Self>,
                others: Option<BufferSliceMut<'_, Self>>,
                count: BufferSliceMut<'_, u64>,
            ) -> anyhow::Result<()> {
                match others {
                    None => primitives.select(flags, from, to, count)?,
                    Some(others) => primitives.partition(flags, from, to, others, count)?,
                };
                Ok(())
            }

            fn unique(
                primitives: &Primitives<'_>,
                from: BufferSlice<'_, Self>,
                to: BufferSliceMut<'_, Self>,
                count: BufferSliceMut<'_, u64>,
            ) -> anyhow::Result<()> {
                primitives.unique(from, to, count)?;
                Ok(())
            }
        }
    )*};
}
selectable! { u32 i64 f64 }

/// Random words, and three beyond.
fn words(len: usize) -> Vec<u64> {
    let units = Random::new(len as u64 + 5).units(len + 3);
    units.iter().map(|x| u64::from(x.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes()).collect()
}

/// Elements by flags, with the others and without, and the first of equal ones.
fn selected<T>(device: &Device, begin: usize, numbers: &[T], words: &[u64]) -> anyhow::Result<()>
where
    T: Selectable,
{
    let primitives = Primitives::new(device);
    let len = numbers.len() - 3;
    // A third, in runs: some tiles have none.
    let flags: Vec<u8> =
        words[..numbers.len()].iter().map(|x| u8::from(x % 3 == 0) * (x >> 40) as u8).collect();
    let (from, on_flags) = (device.upload(numbers)?, device.upload(&flags)?);
    let part = || from.slice(begin..begin + len);
    let chosen = |i: &usize| flags[1 + i] != 0;
    let of = |which: &dyn Fn(&usize) -> bool| -> Vec<T> {
        (0..len).filter(|i| which(i)).map(|i| numbers[begin + i]).collect()
    };
    let (expected, rest) = (of(&chosen), of(&|i| !chosen(i)));
    let empty = vec![numbers[0]; len];
    let (mut to, mut others, mut count) =
        (device.upload(&empty)?, device.upload(&empty)?, device.zeroed::<u64>(1)?);
    let same = |what: &str, got: &[T], expected: &[T]| -> anyhow::Result<()> {
        // Behind the result is what was there.
        let (new, old) = got.split_at(expected.len());
        anyhow::ensure!(
            new == expected && old.iter().all(|x| *x == numbers[0]),
            "{what} of {len} from {begin}"
        );
        Ok(())
    };
    T::select(&primitives, on_flags.slice(1..=len), part(), to.slice_mut(..), None, count.slice_mut(..))?;
    anyhow::ensure!(device.download(&count)? == [expected.len() as u64], "count of {len}");
    same("selection", &device.download(&to)?, &expected)?;
    let mut to = device.upload(&empty)?;
    let room = Some(others.slice_mut(..));
    T::select(&primitives, on_flags.slice(1..=len), part(), to.slice_mut(..), room, count.slice_mut(..))?;
    same("partition", &device.download(&to)?, &expected)?;
    same("others", &device.download(&others)?, &rest)?;
    // Runs, whose ends are flags of the same place.
    let mut run = numbers[0];
    let runs: Vec<T> = (0..len)
        .map(|i| {
            if i % 7 == 0 || chosen(&i) {
                run = numbers[i];
            }
            run
        })
        .collect();
    let (on_runs, mut to) = (device.upload(&runs)?, device.upload(&empty)?);
    T::unique(&primitives, on_runs.slice(..), to.slice_mut(..), count.slice_mut(..))?;
    let first: Vec<T> = (0..len).filter(|&i| i == 0 || runs[i] != runs[i - 1]).map(|i| runs[i]).collect();
    anyhow::ensure!(device.download(&count)? == [first.len() as u64], "firsts of {len}");
    same("firsts", &device.download(&to)?, &first)
}

/// Keys alone and with values, both ways, by all bits and by some, against a stable sort of the same words.
fn sorted<K, V>(
    device: &Device,
    begin: usize,
    keys: &[K],
    values: &[V],
    word: impl Fn(&K) -> u64,
) -> anyhow::Result<()>
where
    K: SortKey + DeviceCopy + Default,
    V: SortValue<K> + PartialEq + Default,
{
    let primitives = Primitives::new(device);
    let len = keys.len() - 3;
    let (from, on_values) = (device.upload(keys)?, device.upload(values)?);
    let width = 8 * size_of::<K>() as u32;
    for (descending, bits) in [(false, None), (true, None), (false, Some(5..17)), (true, Some(0..width))] {
        let range = bits.clone().unwrap_or(0..width);
        let of_bits = |key: &K| {
            let word = word(key) >> range.start & (u64::MAX >> (64 - (range.end - range.start)));
            if descending { !word } else { word }
        };
        let mut expected: Vec<(K, V)> = (0..len).map(|i| (keys[begin + i], values[begin + i])).collect();
        expected.sort_by_key(|(key, _)| of_bits(key));
        let order = SortOrder { descending, bits };
        let (mut to, mut values_to) =
            (device.upload(&vec![K::default(); len])?, device.upload(&vec![V::default(); len])?);
        primitives.sort(&order, from.slice(begin..begin + len), &mut to)?;
        let same = |got: &[K]| got.iter().zip(&expected).all(|(got, (key, _))| word(got) == word(key));
        anyhow::ensure!(same(&device.download(&to)?), "{len} keys from {begin}, {order:?}");
        let (part, of_part) = (from.slice(begin..begin + len), on_values.slice(begin..begin + len));
        primitives.sort_pairs(&order, part, of_part, &mut to, &mut values_to)?;
        anyhow::ensure!(same(&device.download(&to)?), "{len} keys of pairs from {begin}, {order:?}");
        let got = device.download(&values_to)?;
        let differs = got.iter().zip(&expected).position(|(got, (_, value))| got != value);
        anyhow::ensure!(differs.is_none(), "{len} values from {begin}, {order:?}");
    }
    Ok(())
}
