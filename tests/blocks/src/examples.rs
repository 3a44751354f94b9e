//! The kernels of the documentation of `tile::hopper` and `tile::mma`, word for word, for the suite to run.

/// The example of `tile::hopper`.
pub mod relu {
    use cuda_std::prelude::*;
    use half::f16;
    use tile::hopper::{
        KMajor, KTile, Multiply, PanelMap, Ring, RingState, SharedAddress, Sums, cluster, in_one_thread,
        warp_of_block,
    };

    const STAGES: u32 = 4;
    type TileA = KTile<f16, KMajor, 64>;
    type TileB = KTile<f16, KMajor, 128>;
    const STAGE: u32 = TileA::BYTES + TileB::BYTES;
    /// What the launch asks for: 1024 bytes to align the stages, and 227 KiB at most.
    pub const SHARED_BYTES: u32 = 1024 + STAGES * STAGE + Ring::<STAGES>::BYTES;

    /// C = max(A · B + bias, 0): a block for each 64 × 128 elements of C, whose columns are a multiple of 128; both operands
    /// along k. One thread of the first warpgroup copies ahead, the second multiplies.
    ///
    /// # Safety
    /// The maps are of A, by rows, and of B, by columns; `bias` has a number for each of C's `n` columns.
    #[kernel]
    #[block_dim(256, 1, 1)]
    pub unsafe fn relu_product(
        m: u32,
        n: u32,
        k: u32,
        #[grid_constant] a: &PanelMap<f16>,
        #[grid_constant] b: &PanelMap<f16>,
        bias: *const f32,
        c: *mut f16,
    ) {
        let (row, col) = (thread::block_idx_y() * 64, thread::block_idx_x() * 128);
        let base = SharedAddress::dynamic();
        let steps = k.div_ceil(TileA::DEPTH);
        let warp = warp_of_block();
        // SAFETY: shared memory as `SHARED_BYTES`, each part used as its type says; roles are whole warpgroups.
        unsafe {
            let stage =
                |i: u32| (TileA::at(base.plus(i * STAGE)), TileB::at(base.plus(i * STAGE + TileA::BYTES)));
            let ring = Ring::<STAGES>::at(base.plus(STAGES * STAGE));
            if warp == 0 && in_one_thread() {
                ring.init(4); // a stage is empty when four warps say so
                cluster::publish_barriers();
            }
            thread::sync_threads();
            let mut turn = RingState::<STAGES>::default();
            if warp < 4 {
                if warp == 0 && in_one_thread() {
                    for step in 0..steps {
                        let (to_a, to_b) = stage(turn.stage);
                        let full = ring.full(turn.stage);
                        ring.empty(turn.stage).wait(turn.parity ^ 1);
                        full.arrive_expecting(STAGE);
                        to_a.load_panel(a, 0, (row, step * TileA::DEPTH), full, None);
                        to_b.load_panel(b, 0, (col, step * TileB::DEPTH), full, None);
                        to_b.load_panel(b, 1, (col, step * TileB::DEPTH), full, None);
                        turn.advance();
                    }
                }
            } else {
                let mut sums = <f16 as Multiply<128>>::Sums::ZERO;
                let mut before = None;
                for step in 0..steps {
                    ring.full(turn.stage).wait(turn.parity);
                    let (of_a, of_b) = stage(turn.stage);
                    <f16 as Multiply<128>>::multiply(&mut sums, of_a.whole(), of_b.whole(), step > 0);
                    // Only the product before this one is done: its stage goes back.
                    if let Some(before) = before.replace(turn.stage)
                        && thread::thread_idx_x().is_multiple_of(32)
                    {
                        ring.empty(before).arrive();
                    }
                    turn.advance();
                }
                <f16 as Multiply<128>>::finish(&mut sums);
                for i in 0..64 {
                    cuda_std::unroll!(full); // or the sums are no longer in registers
                    let (down, right) = <[f32; 64]>::place(thread::thread_idx_x() - 128, i);
                    if row + down < m {
                        let sum = sums.get(i) + *bias.add((col + right) as usize);
                        let at = (row + down) as usize * n as usize + (col + right) as usize;
                        *c.add(at) = f16::from_f32(sum.max(0.0));
                    }
                }
            }
        }
    }
}

/// The example of `tile::mma`.
pub mod bytes {
    use cuda_std::prelude::*;
    use tile::SharedAddress;
    use tile::mma::{AlongK, Filler, Matrix, Reader, Ring, StageTile, Sums};

    const STAGES: usize = 3;
    const TILE: usize = StageTile::<i8, AlongK, 64, 64>::BYTES;
    type Stages = Ring<STAGES, { 2 * TILE }>;
    /// What the launch asks for: 1024 bytes to align the stages.
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
        // SAFETY: room for two boxes and a barrier, at the same place in both blocks; nobody leaves while the other copies.
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
