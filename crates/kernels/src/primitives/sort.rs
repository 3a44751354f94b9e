//! Sorts.

use std::ops::Range;

use cuda_std::Kernel;
use cust::memory::{DeviceCopy, DevicePointer, DeviceSlice};
use kernels_gpu::base::primitives::sort::{sort_count, sort_pass};
use kernels_gpu::primitives::histogram::blocks_a_sm;
use kernels_gpu::primitives::sort::{BLOCK, COUNTING, DIGITS, Nothing, digit, items};
use warpsmith_launch::{BufferSlice, BufferSliceMut, Shape};

use super::{Element, Primitives};
use crate::plan::Plan;
use crate::{Error, LEVELS, finished};

/// The order of a sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SortOrder {
    /// From the greatest key to the least; equal ones keep their order.
    pub descending: bool,
    /// The bits that count, from the lowest one; all if none are named. Of signed numbers and floats, of the bits that order
    /// them: the sign bit turned, and all others of negative floats.
    pub bits: Option<Range<u32>>,
}

/// A key: a number of 4 or 8 bytes. Floats are in the order of `total_cmp`.
pub trait SortKey: Element {
    /// The kernels' word of it.
    type Word: DeviceCopy + 'static;
    /// The kernel that counts.
    type Count: Kernel<Signature = CountSignature<Self::Word>> + 'static;
    /// The kernel without values.
    type Alone: SortPass<Self::Word, Nothing>;
    /// The flipped bits of negative keys, and of all, in this order or the other.
    fn flipped(descending: bool) -> (Self::Word, Self::Word);
}

/// The signature of the kernels that count.
type CountSignature<W> = fn(*const W, u64, W, W, u32, u32, *mut u64, *mut u32, *mut u64);
/// The signature of the kernels for a pass.
type PassSignature<W, V> = fn(*const W, u64, *mut W, *const V, *mut V, W, W, u32, u32, *const u64, *mut u64);

/// A kernel for a pass.
pub trait SortPass<W, V>: Kernel<Signature = PassSignature<W, V>> + 'static {}
impl<W, V, K: Kernel<Signature = PassSignature<W, V>> + 'static> SortPass<W, V> for K {}

/// A value that follows a key, moved by its bits.
pub trait SortValue<K: SortKey>: DeviceCopy {
    /// The kernels' word of it.
    type Word: DeviceCopy + 'static;
    /// The kernel.
    type Pass: SortPass<K::Word, Self::Word>;
}

macro_rules! keys {
    ($($key:ident as $word:ident, $items:literal: $negative:expr, $always:expr;)*) => {$(
        impl SortKey for $key {
            type Word = $word;
            type Count = sort_count<$word>;
            type Alone = sort_pass<$word, Nothing, $items>;
            fn flipped(descending: bool) -> ($word, $word) {
                ($negative, if descending { !$always } else { $always })
            }
        }
        keys! { @values $key $word: u32 u32, i32 u32, f32 u32, u64 u64, i64 u64, f64 u64 }
    )*};
    (@values $key:ident $word:ident: $($value:ident $as:ident),*) => {$(
        impl SortValue<$key> for $value {
            type Word = $as;
            type Pass = sort_pass<$word, $as, { items::<$word, $as>() }>;
        }
    )*};
}
keys! {
    u32 as u32, 16: 0, 0;
    i32 as u32, 16: 0, 1 << 31;
    f32 as u32, 16: u32::MAX >> 1, 1 << 31;
    u64 as u64, 8: 0, 0;
    i64 as u64, 8: 0, 1 << 63;
    f64 as u64, 8: u64::MAX >> 1, 1 << 63;
}

/// The operands of a sort: addresses of words.
struct Words {
    from: u64,
    to: u64,
    /// Room for as many in between.
    between: u64,
}

impl Words {
    /// The addresses that a pass reads and writes, so that the last one of all writes the result.
    fn of_pass(&self, pass: u32, passes: u32) -> (u64, u64) {
        let to = |pass: u32| if (passes - pass) % 2 == 1 { self.to } else { self.between };
        (if pass == 0 { self.from } else { to(pass - 1) }, to(pass))
    }
}

impl Primitives<'_> {
    /// The keys in order, in `to`.
    ///
    /// ```
    /// use warpsmith_kernels::primitives::{Primitives, SortOrder};
    /// use warpsmith_launch::{Device, DevicePreference};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let device = Device::open(DevicePreference::Virtual)?;
    /// let x = device.upload(&[2.5f32, -1.0, 7.0])?;
    /// let mut to = device.zeroed::<f32>(3)?;
    /// Primitives::new(&device).sort(&SortOrder::default(), &x, &mut to)?;
    /// assert_eq!(device.download(&to)?, [-1.0, 2.5, 7.0]);
    /// # Ok(()) }
    /// ```
    pub fn sort<'b, K: SortKey>(
        &self,
        order: &SortOrder,
        from: impl Into<BufferSlice<'b, K>>,
        to: impl Into<BufferSliceMut<'b, K>>,
    ) -> Result<Plan, Error> {
        let (from, mut to) = (from.into(), to.into());
        // SAFETY: both are borrowed until the device has been waited for.
        finished(self.device, unsafe { self.sort_async(order, from.as_cust(), to.as_cust_mut()) })
    }

    /// [`sort`](Self::sort) of `cust`'s buffers, put on the device's stream.
    ///
    /// # Safety
    /// Until the stream has done it, both stay where they are, and nothing else writes `from` or reaches `to`.
    pub unsafe fn sort_async<K: SortKey>(
        &self,
        order: &SortOrder,
        from: &DeviceSlice<K>,
        to: &mut DeviceSlice<K>,
    ) -> Result<Plan, Error> {
        super::refuse_shorter(to, from.len())?;
        // SAFETY: the caller's promise; without values their addresses are never used.
        unsafe { self.sorted::<K, Nothing, K::Alone>(order, from, to, (0, 0)) }
    }

    /// The keys in order, in `keys_to`, and each one's value at the same place of `values_to`.
    pub fn sort_pairs<'b, K: SortKey, V: SortValue<K>>(
        &self,
        order: &SortOrder,
        keys: impl Into<BufferSlice<'b, K>>,
        values: impl Into<BufferSlice<'b, V>>,
        keys_to: impl Into<BufferSliceMut<'b, K>>,
        values_to: impl Into<BufferSliceMut<'b, V>>,
    ) -> Result<Plan, Error> {
        let (keys, values, mut keys_to, mut values_to) =
            (keys.into(), values.into(), keys_to.into(), values_to.into());
        // SAFETY: all are borrowed until the device has been waited for.
        finished(self.device, unsafe {
            self.sort_pairs_async(
                order,
                keys.as_cust(),
                values.as_cust(),
                keys_to.as_cust_mut(),
                values_to.as_cust_mut(),
            )
        })
    }

    /// [`sort_pairs`](Self::sort_pairs) of `cust`'s buffers, put on the device's stream.
    ///
    /// # Safety
    /// As of [`sort_async`](Self::sort_async), of all four.
    pub unsafe fn sort_pairs_async<K: SortKey, V: SortValue<K>>(
        &self,
        order: &SortOrder,
        keys: &DeviceSlice<K>,
        values: &DeviceSlice<V>,
        keys_to: &mut DeviceSlice<K>,
        values_to: &mut DeviceSlice<V>,
    ) -> Result<Plan, Error> {
        super::refuse_shorter(keys_to, keys.len())?;
        super::refuse_shorter(values_to, keys.len())?;
        if values.len() < keys.len() {
            let message = format!("{} keys need a value each, there are {}", keys.len(), values.len());
            return Err(Error::Primitive(message));
        }
        let values = (values.as_device_ptr().as_raw(), values_to.as_device_ptr().as_raw());
        // SAFETY: the caller's promise; there is a value for each key, and room for it.
        unsafe { self.sorted::<K, V::Word, V::Pass>(order, keys, keys_to, values) }
    }

    /// Counts all digits, then sorts by one after the other.
    ///
    /// # Safety
    /// As of [`sort_pairs_async`](Self::sort_pairs_async), with the addresses of values.
    unsafe fn sorted<K: SortKey, V: DeviceCopy + 'static, P: SortPass<K::Word, V>>(
        &self,
        order: &SortOrder,
        keys: &DeviceSlice<K>,
        keys_to: &mut DeviceSlice<K>,
        values: (u64, u64),
    ) -> Result<Plan, Error> {
        let (len, width) = (keys.len(), size_of::<K>());
        let bits = order.bits.clone().unwrap_or(0..8 * width as u32);
        if bits.start >= bits.end || bits.end > 8 * width as u32 {
            let message =
                format!("the bits {bits:?} of keys of {width} bytes: 0 <= first < end <= {}", 8 * width);
            return Err(Error::Primitive(message));
        }
        let passes = (bits.end - bits.start).div_ceil(8);
        let tile = BLOCK as usize * items::<K::Word, V>();
        let tiles = len.div_ceil(tile).max(1);
        let words = self.chain(tiles * DIGITS)?;
        let counts = DevicePointer::<u64>::from_raw(self.zeros(8 * DIGITS)?);
        // Where digits begin, then keys and values between passes, each at a multiple of 16 bytes.
        let (begin, padded) = (8 * 8 * DIGITS, |bytes: usize| bytes.next_multiple_of(16));
        let (ticket, scratch) = self.scratch(begin + padded(len * width) + len * size_of::<V>())?;
        let between = scratch + begin as u64;
        let keys_at =
            Words { from: keys.as_device_ptr().as_raw(), to: keys_to.as_device_ptr().as_raw(), between };
        let between = between + padded(len * width) as u64;
        let values_at = Words { from: values.0, to: values.1, between };
        let (negative, always) = K::flipped(order.descending);
        let shape = |blocks: usize, block: u32| Shape {
            grid: [blocks as u32, 1, 1],
            block: [block, 1, 1],
            shared: 0,
        };
        let limits = self.device.limits();
        let most = limits.sms * blocks_a_sm::<K>().min(limits.threads_per_sm / COUNTING);
        let counting = (len * width / 16).div_ceil(COUNTING as usize).clamp(1, most as usize);
        let begins = DevicePointer::<u64>::from_raw(scratch);
        // SAFETY: counts and ticket are 0 between launches of one stream, and there is room for what each kernel writes.
        unsafe {
            let keys = DevicePointer::<K::Word>::from_raw;
            let arguments = (
                keys(keys_at.from),
                len as u64,
                negative,
                always,
                bits.start,
                bits.end,
                counts,
                ticket,
                begins,
            );
            self.device.kernel::<K::Count>(&LEVELS)?.launch(shape(counting, COUNTING), arguments)?;
            let kernel = self.device.kernel::<P>(&LEVELS)?;
            for pass in 0..passes {
                let ((from, to), (value, value_to)) =
                    (keys_at.of_pass(pass, passes), values_at.of_pass(pass, passes));
                let digit = digit(pass, bits.start, bits.end);
                let arguments = (
                    keys(from),
                    len as u64,
                    keys(to),
                    DevicePointer::<V>::from_raw(value),
                    DevicePointer::<V>::from_raw(value_to),
                    negative,
                    always,
                    digit.from,
                    digit.mask,
                    begins.wrapping_add(pass as usize * DIGITS),
                    words,
                );
                kernel.launch(shape(tiles, BLOCK), arguments)?;
            }
        }
        let why = format!("{passes} passes of 8 bits over {tiles} tiles of {tile} keys");
        Ok(Plan { kernel: P::NAME, shape: shape(tiles, BLOCK), why })
    }
}
