//! A case, and the macro that makes its two kernels.

use cuda_std::thread;

/// The tool that is to find the bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Accesses outside their object, misaligned, after free.
    Memory,
    /// Unordered accesses, one of them a write.
    Race,
    /// A race of writes of equal values: a warning.
    Equal,
    /// A value that was never written decides something or reaches the host.
    Init,
    /// Barriers, masks, waits without end.
    Barrier,
    /// A barrier of the whole block behind which a part of a warp has ended: a warning.
    Parted,
}

/// A pair of kernels, `NAME_bug` and `NAME_right`.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// The stem of the kernels' names.
    pub name: &'static str,
    /// The tool that finds it.
    pub check: Check,
    /// Blocks.
    pub grid: u32,
    /// Threads a block.
    pub block: u32,
    /// Bytes of dynamic shared memory.
    pub dynamic: u32,
    /// Words of the output that the host reads afterwards.
    pub reads: usize,
    /// Whether the plain schedule may hide it: it is looked for under more.
    pub hidden: bool,
}

impl Case {
    /// One block of 64 threads whose output is not read.
    pub const PLAIN: Case =
        Case { name: "", check: Check::Race, grid: 1, block: 64, dynamic: 0, reads: 0, hidden: false };
}

/// The arguments of every kernel.
#[derive(Clone, Copy)]
pub struct Data {
    /// `n` words; word `i` is `(7 i + 3) mod 11`, and the last 24 are 0: an index that the compiler cannot know.
    pub input: *const u32,
    /// `n` words that were never written.
    pub output: *mut u32,
    /// `n` words of 0.
    pub scratch: *mut u32,
    /// 1024.
    pub n: u32,
}

/// Elements by index, without bounds checks: what these kernels get wrong is what the checks would stop.
pub trait Unchecked<T> {
    /// Reads element `i`.
    ///
    /// # Safety
    /// As a read through the pointer.
    unsafe fn at(self, i: usize) -> T;
    /// Reads element `i` as `volatile`.
    ///
    /// # Safety
    /// As [`Unchecked::at`].
    unsafe fn peek(self, i: usize) -> T;
}

impl<T: Copy> Unchecked<T> for *const T {
    #[inline(always)]
    unsafe fn at(self, i: usize) -> T {
        // SAFETY: the caller's.
        unsafe { *self.add(i) }
    }
    #[inline(always)]
    unsafe fn peek(self, i: usize) -> T {
        // SAFETY: the caller's.
        unsafe { self.add(i).read_volatile() }
    }
}

impl<T: Copy> Unchecked<T> for *mut T {
    #[inline(always)]
    unsafe fn at(self, i: usize) -> T {
        // SAFETY: the caller's.
        unsafe { *self.add(i) }
    }
    #[inline(always)]
    unsafe fn peek(self, i: usize) -> T {
        // SAFETY: the caller's.
        unsafe { self.add(i).read_volatile() }
    }
}

/// The thread in its block.
#[inline(always)]
pub fn thread_index() -> usize {
    thread::thread_idx_x() as usize
}

/// The block in its grid.
#[inline(always)]
pub fn block_index() -> usize {
    thread::block_idx_x() as usize
}

/// The thread in its grid.
#[inline(always)]
pub fn global_index() -> usize {
    thread::index_1d() as usize
}

/// Makes `NAME_bug` and `NAME_right` of each body, and the list of the cases.
macro_rules! twins {
    ($($(#[$doc:meta])* $check:ident $name:ident {$($field:ident: $value:expr),* $(,)?} |$data:pat_param| $body:block)*) => {
        pastey::paste! {$(
            $(#[$doc])*
            #[inline(always)]
            unsafe fn $name<const BUG: bool>($data: crate::Data) {
                // SAFETY: the twins break what pointers promise on purpose; they run where that is looked for.
                unsafe { $body }
            }
            $(#[$doc])*
            ///
            /// # Safety
            /// It is not safe: this is the bad twin.
            #[cuda_std::kernel]
            pub unsafe fn [<$name _bug>](input: *const u32, output: *mut u32, scratch: *mut u32, n: u32) {
                // SAFETY: see above.
                unsafe { $name::<true>(crate::Data { input, output, scratch, n }) }
            }
            /// The correct twin.
            ///
            /// # Safety
            /// The pointers are as [`crate::Data`] says.
            #[cuda_std::kernel]
            pub unsafe fn [<$name _right>](input: *const u32, output: *mut u32, scratch: *mut u32, n: u32) {
                // SAFETY: the caller's.
                unsafe { $name::<false>(crate::Data { input, output, scratch, n }) }
            }
        )*}
        /// The cases of this file.
        pub const CASES: &[crate::Case] = &[$(
            crate::Case {
                name: stringify!($name),
                check: crate::Check::$check,
                $($field: $value,)*
                ..crate::Case::PLAIN
            }
        ),*];
    };
}
pub(crate) use twins;
