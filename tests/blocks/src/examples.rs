//! The kernels of the documentation of `tile::hopper::cluster` and `tile::mma`, word for word, for the suite to run.

/// The example of `tile::mma`.
pub mod bytes {
    use cuda_std::prelude::*;
    use tile::SharedAddress;
    use tile::mma::{AlongK, Filler, Matrix, Reader, Ring, StageTile, Sums};

    const STAGES: usize = 3;
    const TILE: usize = StageTile::<i8, AlongK, 64, 64>::BYTES;
    type Stages = Ring<STAGES, { 2 * TILE }>;
    /// The launch's dynamic shared memory: 1024 bytes to align the stages.
    pub const SHARED_BYTES: usize = 1024 + Stages::TOTAL;

    /// C = A · B of bytes: a block for each 64 × 64 elements of C, a warp for 32 × 32 of them; A by rows, B by columns, rows of
    /// both at multiples of 16 bytes.
    ///
    /// # Safety
    /// A has m × k, B n × k and C m × n elements; `k` is a multiple of 16.
    #[kernel]
    #[block_dim(128, 1, 1)]
    pub unsafe fn byte_product(m: u32, n: u32, k: u32, a: *const i8, b: *const i8, c: *mut i32) {
        let [m, n, k] = [m, n, k].map(|extent| extent as usize);
        let thread = thread::thread_idx_x() as usize;
        let (warp, lane) = (thread / 32, thread % 32);
        let (row, col) = (thread::block_idx_y() as usize * 64, thread::block_idx_x() as usize * 64);
        // Every stage has a tile of A, and one of B behind it.
        let tile_a = SharedAddress::dynamic().bits();
        let tile_b = tile_a + TILE as u32;
        let matrix = |first, extent| Matrix { first, stride: k, extent, depth: k };
        let mut fill_a = Filler::<i8, AlongK, 64, 64, 128>::new(matrix(a, m), row, tile_a, thread);
        let mut fill_b = Filler::<i8, AlongK, 64, 64, 128>::new(matrix(b, n), col, tile_b, thread);
        // Two blocks of 16 rows, and two of 16 columns, for each warp.
        let rows = Reader::<i8, AlongK, 64, 64, 2>::of_rows(tile_a, warp / 2 * 32, lane);
        let columns = Reader::<i8, AlongK, 64, 64, 2>::of_columns(tile_b, warp % 2 * 32, lane);
        let mut sums = [[Sums::<i8>::ZERO; 4]; 2];
        let mut ring = Stages::new();
        // SAFETY: shared memory as `SHARED_BYTES`; all threads come to each wait, whole warps to each product.
        unsafe {
            for stage in 0..STAGES - 1 {
                fill_a.fill((stage * 2 * TILE) as u32);
                fill_b.fill((stage * 2 * TILE) as u32);
                Stages::commit();
            }
            for _ in 0..k.div_ceil(64) {
                Stages::wait();
                fill_a.fill(ring.writing()); // beyond k: zeros
                fill_b.fill(ring.writing());
                Stages::commit();
                for step in 0..2 {
                    cuda_std::unroll!(full);
                    for i in 0..2 {
                        cuda_std::unroll!(full);
                        let of_a = rows.rows(ring.reading(), i, step);
                        for j in 0..2 {
                            cuda_std::unroll!(full);
                            let [left, right] = columns.columns(ring.reading(), j, step);
                            sums[i][2 * j].add(of_a, left);
                            sums[i][2 * j + 1].add(of_a, right);
                        }
                    }
                }
                ring.advance();
            }
            for sum in 0..32 {
                cuda_std::unroll!(full);
                let (i, j, element) = (sum / 16, sum / 4 % 4, sum % 4);
                let (down, right) = Sums::<i8>::place(lane, element);
                let (down, right) =
                    (row + warp / 2 * 32 + 16 * i + down, col + warp % 2 * 32 + 8 * j + right);
                if down < m && right < n {
                    *c.add(down * n + right) = sums[i][j].elements()[element];
                }
            }
        }
    }
}

/// The example of `tile::hopper::cluster`.
pub mod both {
    use cuda_std::prelude::*;
    use tile::hopper::{Barrier, Box2, SharedAddress, SharedBox, Swizzle128, TensorMap, cluster};

    /// Each block of a pair copies half of 64 × 32 words for both, and each writes down what it has.
    ///
    /// # Safety
    /// The map is of at least 64 × 32 words, `seen` has room for them once for each block; 2048 bytes more of dynamic shared memory
    /// than the words.
    #[kernel]
    #[block_dim(128, 1, 1)]
    #[cluster_dim(2, 1, 1)]
    pub unsafe fn half_for_both(
        #[grid_constant] map: &TensorMap<u32, Swizzle128, Box2<32, 32>>,
        seen: *mut u32,
    ) {
        type Half = SharedBox<u32, Swizzle128, Box2<32, 32>>;
        const BYTES: u32 = TensorMap::<u32, Swizzle128, Box2<32, 32>>::BOX_BYTES;
        let (base, rank, thread) = (SharedAddress::dynamic(), cluster::rank(), thread::thread_idx_x());
        // SAFETY: room for two boxes and a barrier, at the same place in both blocks; neither leaves while the other copies.
        unsafe {
            let landed = Barrier::at(base.plus(2 * BYTES));
            if thread == 0 {
                landed.init(1);
                cluster::publish_barriers();
            }
            cluster::sync();
            if thread == 0 {
                landed.arrive_expecting(2 * BYTES); // both halves land here
                map.load_to_blocks(Half::at(base.plus(rank * BYTES)), [0, 32 * rank as i32], landed, 0b11);
            }
            landed.wait(0);
            for i in 0..16 {
                let word = i * 128 + thread;
                let (line, col) = (word / 32, word % 32);
                let from = Half::at(base.plus(line / 32 * BYTES)).piece(line % 32, col / 4).plus(col % 4 * 4);
                *seen.add((thread::block_idx_x() * 2048 + word) as usize) = *from.pointer::<u32>();
            }
            cluster::sync();
        }
    }
}
