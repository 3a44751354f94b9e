//! One product of a warpgroup: 64 rows by N columns by 128 bytes of k, both operands brought by tensor copies.

use cuda_std::prelude::*;
use half::bf16;
use tile::hopper::{
    Barrier, KMajor, KTile, Major, MnMajor, Multiply, PANEL_LINES, PanelMap, SharedAddress, Sums, Tf32,
    cluster,
};

/// Bytes of dynamic shared memory for N columns.
pub const fn shared_bytes(n: u32) -> u32 {
    1024 + (64 + n) * 128 + Barrier::BYTES
}

#[inline(always)]
unsafe fn product<T, A: Major<T>, B: Major<T>, const N: u32>(
    a: &PanelMap<T>,
    b: &PanelMap<T>,
    out: *mut <T::Sums as Sums>::Sum,
) where
    T: Multiply<N>,
{
    let base = SharedAddress::dynamic();
    let thread = thread::thread_idx_x();
    // SAFETY: shared memory is as large as `shared_bytes`; 128 threads; `out` has 64 × N sums.
    unsafe {
        let to_a = KTile::<T, A, 64>::at(base);
        let to_b = KTile::<T, B, N>::at(base.plus(64 * 128));
        let landed = Barrier::at(base.plus((64 + N) * 128));
        if thread == 0 {
            landed.init(1);
            cluster::publish_barriers();
        }
        thread::sync_threads();
        if thread == 0 {
            landed.arrive_expecting((64 + N) * 128);
            to_a.load_panel(a, 0, (0, 0), landed, None);
            for panel in 0..N / PANEL_LINES {
                to_b.load_panel(b, panel, (0, 0), landed, None);
            }
        }
        landed.wait(0);
        let mut sums = T::Sums::ZERO;
        // Twice: the second time what is there is kept.
        T::multiply(&mut sums, to_a.whole(), to_b.whole(), false);
        T::multiply(&mut sums, to_a.whole(), to_b.whole(), true);
        T::finish(&mut sums);
        let row = thread / 32 * 16 + thread % 32 / 4;
        for i in 0..T::Sums::COUNT {
            cuda_std::unroll!(full);
            let (j, below, right) = (i as u32 / 4, i as u32 / 2 % 2, i as u32 % 2);
            let col = 8 * j + thread % 4 * 2 + right;
            *out.add(((row + 8 * below) * N + col) as usize) = sums.get(i);
        }
    }
}

macro_rules! products {
    ($($name:ident: $t:ty, $a:ty, $b:ty, $n:literal, $sum:ty;)*) => {$(
        /// # Safety
        /// The maps are of A and B, `out` has 64 × N sums, 128 threads.
        #[kernel]
        #[block_dim(128, 1, 1)]
        pub unsafe fn $name(
            #[grid_constant] a: &PanelMap<$t>,
            #[grid_constant] b: &PanelMap<$t>,
            out: *mut $sum,
        ) {
            // SAFETY: the kernel's own contract.
            unsafe { product::<$t, $a, $b, $n>(a, b, out) }
        }
    )*};
}
products! {
    product_bf16_64_nt: bf16, KMajor, KMajor, 64, f32;
    product_bf16_64_tn: bf16, MnMajor, MnMajor, 64, f32;
    product_bf16_256_nt: bf16, KMajor, KMajor, 256, f32;
    product_bf16_256_nn: bf16, KMajor, MnMajor, 256, f32;
    product_f16_128_tt: f16, MnMajor, KMajor, 128, f32;
    product_f16_128_tn: f16, MnMajor, MnMajor, 128, f32;
    product_tf32_128_nt: Tf32, KMajor, KMajor, 128, f32;
    product_s8_128_nt: i8, KMajor, KMajor, 128, i32;
}
