//! Boxes that come in, are looked at, and go out again.

use cuda_std::prelude::*;
use cuda_std::ptx;
use tile::hopper::{
    Barrier, Box2, Box3, BoxShape, NoSwizzle, SharedAddress, SharedBox, Swizzle, Swizzle32, Swizzle64,
    Swizzle128, TensorMap, cluster, commit_stores, fence_tensor_copies, wait_stores,
};

/// Bytes of dynamic shared memory: a box of at most 8 KiB, and a barrier.
pub const SHARED_BYTES: u32 = 1024 + 8192 + Barrier::BYTES;

/// A barrier behind the box, that one arrival ends.
#[inline(always)]
unsafe fn barrier(base: SharedAddress) -> Barrier {
    // SAFETY: the launch has the room.
    unsafe {
        let landed = Barrier::at(base.plus(8192));
        if thread::thread_idx_x() == 0 {
            landed.init(1);
            cluster::publish_barriers();
        }
        landed
    }
}

#[inline(always)]
unsafe fn word(address: SharedAddress) -> u32 {
    let word: u32;
    // SAFETY: the caller's promise.
    unsafe { ptx!("ld.shared.u32 {word}, [{a}];", word = out(u32) word, a = in(u32) address.bits()) };
    word
}

/// Brings the box at `at`, writes its words to `seen` in order, and copies the box to `goal` of another tensor.
#[inline(always)]
unsafe fn pass<S: Swizzle, B: BoxShape>(
    from: &TensorMap<u32, S, B>,
    to: &TensorMap<u32, S, B>,
    at: B::At,
    goal: B::At,
    seen: *mut u32,
) {
    let base = SharedAddress::dynamic();
    // SAFETY: 32 threads; shared memory as `SHARED_BYTES`; `seen` has a box.
    unsafe {
        let landed = barrier(base);
        thread::sync_threads();
        let room = SharedBox::at(base);
        if thread::thread_idx_x() == 0 {
            landed.arrive_expecting(TensorMap::<u32, S, B>::BOX_BYTES);
            from.load(room, at, landed);
        }
        landed.wait(0);
        let mut index = thread::thread_idx_x();
        while index < B::COUNT {
            // Lines of 128 bytes of shared memory, whatever a line of the box is.
            let (line, piece) = (index / 32, index % 32 / 4);
            *seen.add(index as usize) = word(room.piece(line, piece).plus(index % 4 * 4));
            index += 32;
        }
        fence_tensor_copies();
        thread::sync_threads();
        if thread::thread_idx_x() == 0 {
            to.store(room, goal);
            commit_stores();
            wait_stores::<0>();
        }
    }
}

macro_rules! passes {
    ($($name:ident: $swizzle:ty, $shape:ty, ($($c:ident),*), ($($g:ident),*);)*) => {$(
        /// # Safety
        /// The maps are of tensors of u32; `seen` has a box; 32 threads.
        #[kernel]
        #[block_dim(32, 1, 1)]
        pub unsafe fn $name(
            #[grid_constant] from: &TensorMap<u32, $swizzle, $shape>,
            #[grid_constant] to: &TensorMap<u32, $swizzle, $shape>,
            $($c: i32,)*
            $($g: i32,)*
            seen: *mut u32,
        ) {
            // SAFETY: the kernel's own contract.
            unsafe { pass::<$swizzle, $shape>(from, to, [$($c),*], [$($g),*], seen) }
        }
    )*};
}
passes! {
    box_plain: NoSwizzle, Box2<16, 32>, (x, y), (to_x, to_y);
    box_swizzled_32: Swizzle32, Box2<32, 8>, (x, y), (to_x, to_y);
    box_swizzled_64: Swizzle64, Box2<32, 16>, (x, y), (to_x, to_y);
    box_swizzled_128: Swizzle128, Box2<64, 32>, (x, y), (to_x, to_y);
    box_of_three_dimensions: Swizzle128, Box3<2, 8, 32>, (x, y, z), (to_x, to_y, to_z);
}

/// Two blocks of a cluster bring half of a box each, to both; the first thread of each tells the other that it has seen
/// its own, and writes what it saw.
///
/// # Safety
/// The map is of at least 32 × 32 words; `seen` has 2048 words; 32 threads, clusters of 2.
#[kernel]
#[block_dim(32, 1, 1)]
#[cluster_dim(2, 1, 1)]
pub unsafe fn box_for_both(#[grid_constant] from: &TensorMap<u32, Swizzle128, Box2<16, 32>>, seen: *mut u32) {
    let base = SharedAddress::dynamic();
    let rank = cluster::rank();
    // SAFETY: shared memory as `SHARED_BYTES`, the same in both blocks.
    unsafe {
        let landed = barrier(base);
        let told = Barrier::at(base.plus(4096));
        if thread::thread_idx_x() == 0 {
            told.init(cluster::size());
            cluster::publish_barriers();
        }
        cluster::sync();
        if thread::thread_idx_x() == 0 {
            landed.arrive_expecting(32 * 128);
            let half = SharedBox::at(base.plus(rank * 16 * 128));
            from.load_to_blocks(half, [0, rank as i32 * 16], landed, 0b11);
        }
        landed.wait(0);
        if thread::thread_idx_x() < 2 {
            told.arrive_at(thread::thread_idx_x());
        }
        told.wait(0);
        let room = SharedBox::<u32, Swizzle128, Box2<16, 32>>::at(base);
        for i in 0..32 {
            let index = i * 32 + thread::thread_idx_x();
            let place = room.piece(index / 32, index % 32 / 4).plus(index % 4 * 4);
            *seen.add(((cluster::index() * 2 + rank) * 1024 + index) as usize) = word(place);
        }
        cluster::begin_leaving();
        cluster::wait_leaving();
    }
}
