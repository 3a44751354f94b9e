//! Memory shared by the threads of a block.

/// A fixed-size array in shared memory: `shared_array![f32; 256]` is a `*mut f32` to 256 of them.
///
/// Each place in the source that says so is one array for each block, the same one in every turn of a loop. Its
/// content is undefined at first, and it is aligned to 16 bytes at least. Element type and length cannot name a generic
/// parameter of the surrounding function.
///
/// ```
/// use cuda_std::prelude::*;
///
/// #[kernel]
/// pub unsafe fn reverse(data: *mut f32) {
///     let tile = cuda_std::shared_array![f32; 256];
///     let i = thread::thread_idx_x() as usize;
///     unsafe { *tile.add(i) = *data.add(i) };
///     thread::sync_threads();
///     unsafe { *data.add(i) = *tile.add(255 - i) };
/// }
/// ```
#[macro_export]
macro_rules! shared_array {
    [$ty:ty; $len:expr] => {{
        #[inline(always)]
        #[allow(clippy::declare_interior_mutable_const)]
        fn __shared_array() -> *mut $ty {
            #[cfg(target_os = "cuda")]
            {
                #[unsafe(link_section = "__WARPSMITH,shared")]
                static mut __ARRAY: ::core::mem::MaybeUninit<[$ty; $len]> = ::core::mem::MaybeUninit::uninit();
                (&raw mut __ARRAY).cast::<$ty>()
            }
            #[cfg(not(target_os = "cuda"))]
            {
                let _: ::core::marker::PhantomData<[$ty; $len]>;
                // SAFETY: it panics.
                unsafe { $crate::__device::only_on_the_gpu("shared memory") }
            }
        }
        __shared_array()
    }};
}

/// The dynamic shared memory of the launch, as a pointer to `T`. Every call gives the same address.
///
/// The host sets its size at launch; it is aligned to 128 bytes.
#[inline(always)]
pub fn dynamic_shared_mem<T>() -> *mut T {
    #[cfg(target_os = "cuda")]
    {
        unsafe extern "C" {
            static mut _Zcuda_std_dyn_shared: [u8; 0];
        }
        (&raw mut _Zcuda_std_dyn_shared).cast()
    }
    #[cfg(not(target_os = "cuda"))]
    // SAFETY: it panics.
    unsafe {
        crate::__device::only_on_the_gpu("dynamic shared memory")
    }
}
