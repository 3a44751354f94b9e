extern crate renamed as gpu;
pub use renamed::doubled;
use gpu::gpu::{kernel, shared_array, thread};

type Values<'a> = &'a [u16];

/// A type alias, a scalar behind another, a pair by value, and nothing.
pub type Real = f64;

#[kernel]
pub unsafe fn picked(values: Values, scale: Real, (from, to): (u8, u32), nothing: (), out: *mut f64) {
    let _ = nothing;
    let tile = shared_array![u16; 64];
    let i = thread::thread_idx_x() as usize;
    unsafe { *tile.add(i) = values[i + from as usize] };
    thread::sync_threads();
    unsafe { *out.add(i) = f64::from(*tile.add(63 - i)) * scale + f64::from(to) };
}
