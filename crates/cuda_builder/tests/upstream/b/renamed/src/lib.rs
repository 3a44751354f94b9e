pub use gpu;

#[gpu::kernel]
#[gpu::launch_bounds(max_threads = 64)]
pub unsafe fn doubled(values: &[u32], out: *mut u32) {
    let i = gpu::thread::index_1d() as usize;
    if i < values.len() {
        unsafe { *out.add(i) = twice(values[i]) };
    }
}

/// With the prelude that every crate has.
pub fn twice(value: u32) -> u32 {
    Some(value).map_or(0, |value| value * 2)
}
