//! The way to the product, a step at a time: bf16, both operands along k, extents that are multiples of the tiles.
//!
//! | kernel | what is new |
//! | --- | --- |
//! | [`hopper_one_group`] | a warpgroup copies, waits, multiplies 64 × 256 elements, and begins again |
//! | [`hopper_ring`] | a thread copies four stages ahead for two warpgroups: copies and products overlap |
//! | [`hopper_registers`] | the copying warpgroup gives its registers to the others |
//! | [`hopper_persistent`] | a block for each multiprocessor goes from tile to tile, in an order that shares A and B in L2 |
//! | `hopper_bf16_nt_alone` | tiles leave through shared memory, as tensor copies, while the next is multiplied |
//! | `hopper_bf16_nt` | two blocks share B |

use cuda_std::prelude::*;
use half::bf16;
use tile::hopper::{
    Barrier, KMajor, KTile, Multiply, PANEL_LINES, PanelMap, Ring, RingState, SharedAddress, cluster,
    give_registers, in_one_thread, take_registers, warp_of_block,
};

use super::HopperGemm;
use super::epilogue::Narrow;

pub const BLOCK_N: u32 = 256;
/// Rows of C that a warpgroup computes.
pub const GROUP_M: u32 = 64;
const STAGES: u32 = 4;

/// Bytes of dynamic shared memory for stages of `rows` rows of A.
pub const fn shared_bytes(rows: u32, stages: u32) -> u32 {
    1024 + stages * ((rows + BLOCK_N) * 128 + 2 * Barrier::BYTES)
}

/// Where C is, for kernels that store it themselves.
#[derive(Clone, Copy)]
struct Target {
    c: *mut bf16,
    /// Elements from row to row.
    pitch: usize,
}

impl Target {
    /// Stores a warpgroup's sums from (`row`, `col`) on, two neighbours at a time: each four lanes write 16 bytes of a row.
    ///
    /// # Safety
    /// C has these 64 × 256 elements.
    #[inline(always)]
    unsafe fn store(self, alpha: f32, sums: &[f32; 128], row: u32, col: u32) {
        let thread = thread::thread_idx_x() % 128;
        let row = (row + thread / 32 * 16 + thread % 32 / 4) as usize;
        let col = (col + thread % 4 * 2) as usize;
        for j in 0..32 {
            cuda_std::unroll!(full);
            for below in 0..2 {
                cuda_std::unroll!(full);
                let first = 4 * j + 2 * below;
                let word = bf16::pack(alpha * sums[first], alpha * sums[first + 1]);
                // SAFETY: the caller's promise.
                unsafe { *self.c.add((row + 8 * below) * self.pitch + col + 8 * j).cast::<u32>() = word };
            }
        }
    }
}

/// The operands of a stage.
#[inline(always)]
fn stage<const ROWS: u32>(
    stages: SharedAddress,
    stage: u32,
) -> (KTile<bf16, KMajor, ROWS>, KTile<bf16, KMajor, BLOCK_N>) {
    let first = stages.plus(stage * (ROWS + BLOCK_N) * 128);
    // SAFETY: room for as many stages, each a multiple of 1024 bytes.
    unsafe { (KTile::at(first), KTile::at(first.plus(ROWS * 128))) }
}

/// Starts the copies of a stage.
///
/// # Safety
/// One thread calls, for a stage that is empty.
#[inline(always)]
unsafe fn fill<const ROWS: u32>(
    a: &PanelMap<bf16>,
    b: &PanelMap<bf16>,
    (to_a, to_b): (KTile<bf16, KMajor, ROWS>, KTile<bf16, KMajor, BLOCK_N>),
    (row, col, k): (u32, u32, u32),
    full: Barrier,
) {
    // SAFETY: the caller's promise.
    unsafe {
        full.arrive_expecting((ROWS + BLOCK_N) * 128);
        for panel in 0..ROWS / PANEL_LINES {
            cuda_std::unroll!(full);
            to_a.load_panel(a, panel, (row, k), full, None);
        }
        for panel in 0..BLOCK_N / PANEL_LINES {
            cuda_std::unroll!(full);
            to_b.load_panel(b, panel, (col, k), full, None);
        }
    }
}

/// One warpgroup does everything, one thing after the other.
///
/// # Safety
/// `p.m`, `p.n` and `p.k` are multiples of 64, 256 and 64, with a block for each tile in a grid of columns × rows; C has
/// m × n elements; [`shared_bytes`] of 64 rows and one stage.
#[kernel]
#[block_dim(128, 1, 1)]
pub unsafe fn hopper_one_group(
    p: HopperGemm,
    #[grid_constant] a: &PanelMap<bf16>,
    #[grid_constant] b: &PanelMap<bf16>,
    c: *mut bf16,
) {
    let base = SharedAddress::dynamic();
    let (row, col) = (thread::block_idx_y() * GROUP_M, thread::block_idx_x() * BLOCK_N);
    // SAFETY: the kernel's own contract.
    unsafe {
        let (tile_a, tile_b) = stage::<GROUP_M>(base, 0);
        let full = Barrier::at(base.plus((GROUP_M + BLOCK_N) * 128));
        let first = thread::thread_idx_x() == 0;
        if first {
            full.init(1);
            cluster::publish_barriers();
        }
        thread::sync_threads();
        let mut sums = [0.0; 128];
        let (mut k, mut parity) = (0, 0);
        while k < p.k {
            if first {
                fill(a, b, (tile_a, tile_b), (row, col, k), full);
            }
            full.wait(parity);
            parity ^= 1;
            <bf16 as Multiply<BLOCK_N>>::multiply(&mut sums, tile_a.whole(), tile_b.whole(), k > 0);
            <bf16 as Multiply<BLOCK_N>>::finish(&mut sums);
            // Nobody reads the stage any more.
            thread::sync_threads();
            k += 64;
        }
        Target { c, pitch: p.n as usize }.store(p.alpha, &sums, row, col);
    }
}

/// A producer and two consumers around a ring; `REGISTERS`: the producer gives registers to the consumers; `PERSISTENT`:
/// blocks go from tile to tile, in the order of [`Raster`].
///
/// # Safety
/// As the kernels below.
#[inline(always)]
unsafe fn around_a_ring<const REGISTERS: bool, const PERSISTENT: bool>(
    p: HopperGemm,
    a: &PanelMap<bf16>,
    b: &PanelMap<bf16>,
    c: *mut bf16,
) {
    const ROWS: u32 = 2 * GROUP_M;
    let base = SharedAddress::dynamic();
    let warp = warp_of_block();
    let raster = p.raster(ROWS, BLOCK_N);
    let (mut tile, step) = (thread::block_idx_x(), thread::grid_dim_x());
    let place = |tile: u32| {
        let across = (p.n / BLOCK_N).max(1);
        let (row, col) = if PERSISTENT { raster.tile(tile) } else { (tile / across, tile % across) };
        (row * ROWS, col * BLOCK_N)
    };
    // SAFETY: the caller's promise; every stage is used by its own barriers.
    unsafe {
        let ring = Ring::<STAGES>::at(base.plus(STAGES * (ROWS + BLOCK_N) * 128));
        if warp == 0 && in_one_thread() {
            ring.init(8);
            cluster::publish_barriers();
        }
        thread::sync_threads();
        let mut turn = RingState::<STAGES>::default();
        if warp < 4 {
            if REGISTERS {
                give_registers::<24>();
            }
            if warp == 0 && in_one_thread() {
                while tile < raster.tiles() {
                    let (row, col) = place(tile);
                    let mut k = 0;
                    while k < p.k {
                        ring.empty(turn.stage).wait(turn.parity ^ 1);
                        fill(a, b, stage::<ROWS>(base, turn.stage), (row, col, k), ring.full(turn.stage));
                        turn.advance();
                        k += 64;
                    }
                    tile += step;
                }
            }
        } else {
            if REGISTERS {
                take_registers::<240>();
            }
            let group = warp / 4 - 1;
            let lane = cuda_std::warp::lane_id();
            let mut sums = [0.0; 128];
            while tile < raster.tiles() {
                let (row, col) = place(tile);
                let mut k = 0;
                while k < p.k {
                    ring.full(turn.stage).wait(turn.parity);
                    let (tile_a, tile_b) = stage::<ROWS>(base, turn.stage);
                    let half = tile_a.part(group * GROUP_M);
                    <bf16 as Multiply<BLOCK_N>>::multiply(&mut sums, half, tile_b.whole(), k > 0);
                    // The product before this one is done: its stage goes back.
                    if k > 0 && lane == 0 {
                        ring.empty((turn.stage + STAGES - 1) % STAGES).arrive();
                    }
                    turn.advance();
                    k += 64;
                }
                <bf16 as Multiply<BLOCK_N>>::finish(&mut sums);
                if lane == 0 {
                    ring.empty((turn.stage + STAGES - 1) % STAGES).arrive();
                }
                Target { c, pitch: p.n as usize }.store(p.alpha, &sums, row + group * GROUP_M, col);
                tile += step;
            }
        }
    }
}

macro_rules! steps {
    ($($(#[$doc:meta])* $name:ident: $registers:literal, $persistent:literal;)*) => {
        listed! { hopper_one_group $($name)* }
        $(
        $(#[$doc])*
        ///
        /// # Safety
        /// `p.m`, `p.n` and `p.k` are multiples of 128, 256 and 64; C has m × n elements; [`shared_bytes`] of 128 rows and
        /// four stages; the grid has a block for each tile, or fewer if blocks go from tile to tile.
        #[kernel]
        #[block_dim(384, 1, 1)]
        pub unsafe fn $name(
            p: HopperGemm,
            #[grid_constant] a: &PanelMap<bf16>,
            #[grid_constant] b: &PanelMap<bf16>,
            c: *mut bf16,
        ) {
            // SAFETY: the kernel's own contract.
            unsafe { around_a_ring::<$registers, $persistent>(p, a, b, c) }
        }
    )*};
}
steps! {
    /// Copies and products overlap.
    hopper_ring: false, false;
    /// The producer's registers go to the consumers.
    hopper_registers: true, false;
    /// Blocks stay, and tiles come in an order that L2 likes.
    hopper_persistent: true, true;
}
