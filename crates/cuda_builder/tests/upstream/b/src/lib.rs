pub use through::{doubled, picked};

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;
use cuda_std::{address_space, externally_visible, gpu_only, warp};

#[kernel]
pub unsafe fn histogram(data: &[u8], bins: *mut u32) {
    #[address_space(shared)]
    static mut BINS: [MaybeUninit<u32>; 256] = [const { MaybeUninit::uninit() }; 256];
    let i = thread::thread_idx_x() as usize;
    let bin = |at: usize| unsafe { AtomicU32::from_ptr((&raw mut BINS).cast::<u32>().add(at)) };
    bin(i).store(0, Ordering::Relaxed);
    thread::sync_threads();
    let at = thread::index_1d() as usize;
    if at < data.len() {
        bin(data[at] as usize).fetch_add(1, Ordering::Relaxed);
    }
    thread::sync_threads();
    let count = bin(i).load(Ordering::Relaxed);
    unsafe { AtomicU32::from_ptr(bins.add(i)).fetch_add(count, Ordering::Relaxed) };
}

#[kernel]
#[cfg(target_os = "cuda")]
pub unsafe fn only_here(out: *mut u32) {
    unsafe { *out = if cfg!(target_feature = "compute_75") { 75 } else { 0 } };
}

#[gpu_only]
#[inline(never)]
fn lane() -> u32 {
    warp::lane_id()
}

#[unsafe(no_mangle)]
#[externally_visible]
pub fn twice(x: u32) -> u32 {
    x * 2
}

#[kernel]
pub unsafe fn sums(values: &[i32], out: *mut i32) {
    let i = thread::index_1d() as usize;
    let mut sum = values[i];
    for step in [16, 8, 4, 2, 1] {
        let (other, _) = unsafe { warp::warp_shuffle_down(u32::MAX, sum, step, 32) };
        sum += other;
    }
    if lane() == 0 {
        unsafe { *out.add(i / 32) = sum };
    }
}

#[kernel]
pub unsafe fn sha256_oneshot(input: &[u8], output: *mut u8) {
    use sha2::{Digest, Sha256};
    if thread::index_1d() == 0 {
        let digest = Sha256::digest(input);
        unsafe { core::slice::from_raw_parts_mut(output, 32) }.copy_from_slice(&digest);
    }
}

#[kernel]
pub unsafe fn blake3_oneshot(input: &[u8], output: *mut [u8; 32]) {
    unsafe { *output = *blake3::hash(input).as_bytes() };
}

#[kernel]
pub unsafe fn checked(input: &[u8], out: *mut u32) {
    unsafe { *out = crc32fast::hash(input) };
}

#[kernel]
pub unsafe fn turned(from: glam::Quat, to: glam::Quat, share: f32, out: *mut glam::Quat) {
    unsafe { *out = from.slerp(to, share) };
}

#[kernel]
pub unsafe fn root(x: f32, y: f64, out: *mut f64) {
    unsafe { *out = f64::from(libm::sqrtf(x)) + libm::fma(y, y, libm::sqrt(y)) };
}

#[kernel]
pub unsafe fn wide(x: i128, y: f64, out: *mut f64, cut: *mut u128) {
    unsafe {
        *out = x as f64 + f64::from(x as u128 as f32);
        *cut = (y as u128).wrapping_add(y as f32 as i128 as u128);
    }
}
