//! Addresses in shared memory as PTX instructions take them.

use cuda_std::ptx;
use cuda_std::shared::dynamic_shared_mem;

/// A place in the block's shared memory: a 32-bit address.
#[derive(Clone, Copy)]
pub struct SharedAddress(u32);

impl SharedAddress {
    /// The first place of the launch's dynamic shared memory that is a multiple of 1024, which is what the 128-byte
    /// swizzle counts from. Ask for 1024 bytes more than what is used.
    #[inline(always)]
    pub fn dynamic() -> Self {
        Self::of(dynamic_shared_mem::<u8>()).aligned_to_1024()
    }

    /// Of a pointer into shared memory.
    #[inline(always)]
    pub fn of<T>(pointer: *const T) -> Self {
        let address: u32;
        // SAFETY: computes only.
        unsafe {
            ptx!("{{", ".reg .u64 wide;", "cvta.to.shared.u64 wide, {p};", "cvt.u32.u64 {a}, wide;", "}}",
                 a = out(u32) address, p = in(ptr) pointer; options(pure, nomem));
        }
        Self(address)
    }

    /// A pointer to this place, for ordinary loads and stores.
    #[inline(always)]
    pub fn pointer<T>(self) -> *mut T {
        let pointer: *mut T;
        // SAFETY: computes only.
        unsafe {
            ptx!("{{", ".reg .u64 wide;", "cvt.u64.u32 wide, {a};", "cvta.shared.u64 {p}, wide;", "}}",
                 p = out(ptr) pointer, a = in(u32) self.0; options(pure, nomem));
        }
        pointer
    }

    /// The address this many bytes further on.
    #[inline(always)]
    pub fn plus(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// The next multiple of 1024.
    #[inline(always)]
    pub fn aligned_to_1024(self) -> Self {
        Self((self.0 + 1023) & !1023)
    }

    /// The number.
    #[inline(always)]
    pub fn bits(self) -> u32 {
        self.0
    }
}
