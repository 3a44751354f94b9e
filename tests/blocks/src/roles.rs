//! A producer and consumers around a ring, with registers given and taken.

use cuda_std::prelude::*;
use cuda_std::ptx;
use tile::hopper::{
    Barrier, Ring, RingState, SharedAddress, cluster, give_registers, in_one_thread, sync_group,
    take_registers, warp_of_block,
};

/// Numbers that pass through the ring.
pub const COUNT: u32 = 1000;

/// One thread of the first warpgroup puts COUNT numbers through a ring of `S` stages; each thread of the second adds them
/// up, and the last one to come writes the sum of all, so that a barrier of the group is needed.
#[inline(always)]
unsafe fn pass<const S: u32>(stages: SharedAddress, barriers: SharedAddress, out: *mut u32) {
    let warp = warp_of_block();
    // SAFETY: room for S words and S pairs of barriers; 256 threads.
    unsafe {
        let ring = Ring::<S>::at(barriers);
        if warp == 0 && in_one_thread() {
            ring.init(128);
            cluster::publish_barriers();
        }
        thread::sync_threads();
        if warp < 4 {
            give_registers::<24>();
            if warp == 0 && in_one_thread() {
                let mut turn = RingState::<S>::default();
                for number in 0..COUNT {
                    ring.empty(turn.stage).wait(turn.parity ^ 1);
                    ptx!("st.shared.u32 [{a}], {n};", a = in(u32) stages.plus(turn.stage * 4).bits(), n = in(u32) number);
                    ring.full(turn.stage).arrive();
                    turn.advance();
                }
            }
        } else {
            take_registers::<240>();
            let mut turn = RingState::<S>::default();
            let mut sum = 0;
            for _ in 0..COUNT {
                let number: u32;
                ring.full(turn.stage).wait(turn.parity);
                ptx!("ld.shared.u32 {n}, [{a}];", n = out(u32) number, a = in(u32) stages.plus(turn.stage * 4).bits());
                ring.empty(turn.stage).arrive();
                turn.advance();
                sum += number;
            }
            let thread = thread::thread_idx_x() - 128;
            *out.add(thread as usize) = sum;
            sync_group::<128>(1);
            if thread == 127 {
                let mut all = 0;
                for i in 0..128 {
                    all += out.add(i).read_volatile();
                }
                *out.add(128) = all;
            }
        }
    }
}

macro_rules! rings {
    ($($name:ident: $stages:literal;)*) => {$(
        /// # Safety
        /// `out` has 129 words; 256 threads.
        #[kernel]
        #[block_dim(256, 1, 1)]
        pub unsafe fn $name(out: *mut u32) {
            let stages = SharedAddress::of(cuda_std::shared_array![u32; $stages]);
            let barriers = SharedAddress::of(cuda_std::shared_array![u64; 2 * $stages]);
            const { assert!(Ring::<$stages>::BYTES == $stages * 2 * Barrier::BYTES) }
            // SAFETY: the kernel's own contract.
            unsafe { pass::<$stages>(stages, barriers, out) }
        }
    )*};
}
rings! {
    ring_of_1: 1;
    ring_of_2: 2;
    ring_of_3: 3;
    ring_of_7: 7;
}
