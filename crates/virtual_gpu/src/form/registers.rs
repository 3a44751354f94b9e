//! A warp's registers: rows of 32 lanes, one value per lane.
//!
//! A register of up to 32 bits takes one row, one of 64 bits two rows read as `[u64; 32]`, one of 128 bits four. A
//! predicate takes a row of which only the first word is used, as a mask of lanes. Values narrower than 32 bits are kept
//! zero-extended.

/// 32 lanes of 32 bits.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(128))]
pub struct Row(pub [u32; 32]);

impl Row {
    pub const ZERO: Row = Row([0; 32]);
}

/// Index of a register's first row in its frame.
pub type Slot = u32;

/// A register of the warp: 32 lanes of `bytes` bytes each. Predicates have `bytes` 0.
///
/// `slot` is unique among the registers live at the time: a call's frame has its own slots, which are reused after it
/// returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Register {
    /// Position in the warp's register file.
    pub slot: u32,
    /// Bytes of one lane: 0 for predicates, else 4, 8 or 16 (16-bit registers take 4).
    pub bytes: u32,
}

/// No register.
pub const NONE: Slot = u32::MAX;

/// A value in a lane.
pub(crate) trait Lane: Copy {
    /// Its type in a row.
    type Store: Copy + Default;
    fn get(store: Self::Store) -> Self;
    fn put(self) -> Self::Store;
}

macro_rules! lane {
    ($($t:ty, $store:ty, |$s:ident| $get:expr, |$v:ident| $put:expr;)*) => {$(
        impl Lane for $t {
            type Store = $store;
            #[inline(always)]
            fn get($s: $store) -> Self {
                $get
            }
            #[inline(always)]
            fn put(self) -> $store {
                let $v = self;
                $put
            }
        }
    )*};
}

lane! {
    u8, u32, |s| s as u8, |v| u32::from(v);
    i8, u32, |s| s as i8, |v| u32::from(v as u8);
    u16, u32, |s| s as u16, |v| u32::from(v);
    i16, u32, |s| s as i16, |v| u32::from(v as u16);
    u32, u32, |s| s, |v| v;
    i32, u32, |s| s as i32, |v| v as u32;
    f32, u32, |s| f32::from_bits(s), |v| v.to_bits();
    u64, u64, |s| s, |v| v;
    i64, u64, |s| s as i64, |v| v as u64;
    f64, u64, |s| f64::from_bits(s), |v| v.to_bits();
    u128, u128, |s| s, |v| v;
}

/// The registers of one frame, as seen by the operations of its function.
///
/// A plain pointer, made anew whenever a warp resumes: the rows move only when a call makes a frame, and no operation
/// that holds a `Regs` does that.
#[derive(Clone, Copy)]
pub(crate) struct Regs(*mut Row);

impl Regs {
    /// # Safety
    /// `rows` must point to the first of as many rows as the function that uses them has, and remain valid while in
    /// use.
    #[inline]
    pub unsafe fn new(rows: *mut Row) -> Self {
        Regs(rows)
    }

    /// The first row.
    pub fn rows(self) -> *mut Row {
        self.0
    }

    /// Number of rows between the start of the warp's rows and the frame's.
    pub fn row_after(self, start: *const Row) -> u32 {
        ((self.0 as usize - start as usize) / size_of::<Row>()) as u32
    }

    /// # Safety
    /// `slot` must be a register of the frame's function that is wide enough for 32 values of `T`.
    #[inline(always)]
    pub unsafe fn lanes<T>(self, slot: Slot) -> *mut [T; 32] {
        // SAFETY: the slot is in the frame, by this function's contract. A row is aligned for every `T` of `Lane`.
        unsafe { self.0.add(slot as usize).cast() }
    }

    /// The lanes of a predicate.
    ///
    /// # Safety
    /// `slot` must be a register of the frame's function.
    #[inline(always)]
    pub unsafe fn predicate(self, slot: Slot) -> u32 {
        // SAFETY: as `lanes`.
        unsafe { (*self.lanes::<u32>(slot))[0] }
    }

    /// Sets a predicate in the lanes of `mask`.
    ///
    /// # Safety
    /// `slot` must be a register of the frame's function.
    #[inline(always)]
    pub unsafe fn set_predicate(self, slot: Slot, value: u32, mask: u32) {
        // SAFETY: as `lanes`.
        unsafe {
            let word = &mut (*self.lanes::<u32>(slot))[0];
            *word = *word & !mask | value & mask;
        }
    }

    /// Value of one lane.
    ///
    /// # Safety
    /// As `lanes`.
    #[inline(always)]
    pub unsafe fn get<T: Lane>(self, slot: Slot, lane: usize) -> T {
        // SAFETY: as `lanes`.
        T::get(unsafe { (*self.lanes::<T::Store>(slot))[lane] })
    }

    /// Sets the value of one lane.
    ///
    /// # Safety
    /// As `lanes`.
    #[inline(always)]
    pub unsafe fn set<T: Lane>(self, slot: Slot, lane: usize, value: T) {
        // SAFETY: as `lanes`.
        unsafe { (*self.lanes::<T::Store>(slot))[lane] = value.put() }
    }

    /// Writes the lanes of `mask`.
    ///
    /// # Safety
    /// As `lanes`.
    #[inline(always)]
    pub unsafe fn store<T: Copy>(self, slot: Slot, values: &[T; 32], mask: u32) {
        // SAFETY: as `lanes`.
        let to = unsafe { &mut *self.lanes::<T>(slot) };
        if mask == u32::MAX {
            *to = *values;
        } else {
            for i in 0..32 {
                to[i] = if mask >> i & 1 != 0 { values[i] } else { to[i] };
            }
        }
    }
}

/// Lanes of a mask, lowest first.
#[inline(always)]
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        (rest != 0).then(|| {
            let lane = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            lane
        })
    })
}
