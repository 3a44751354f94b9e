//! Mistakes that classic tutorials teach, each beside what is right: tiled products and transposes, tails, dynamic
//! shared memory.

use crate::case::{Unchecked, twins};
use crate::thread_index;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::shared_array;
use cuda_std::thread::sync_threads;

twins! {
    /// A tile is stored transposed and read straight: without padding for it, its columns run over the last row.
    Memory tile_stored_transposed { block: 128 } |d| {
        // A tile of 8 rows of 16.
        let (tile, other, t) = (shared_array![u32; 128], shared_array![u32; 128], thread_index());
        let (x, y) = (t % 16, t / 16);
        *tile.add(if BUG { x * 16 + y } else { y * 16 + x }) = d.input.at(t); // <-
        *other.add(t) = 0;
        sync_threads();
        *d.output.add(t) = tile.at(y * 16 + x) + other.at(t); // <-
    }

    /// The input's guard is reused for the transposed output: words that were never stored are written out.
    Init guard_of_the_input { block: 256, reads: 240 } |d| {
        let (tile, t) = (shared_array![u32; 272], thread_index());
        let (x, y) = (t % 16, t / 16);
        let inside = x < 15;
        if inside {
            *tile.add(y * 17 + x) = d.input.at(y * 15 + x);
        }
        sync_threads();
        if if BUG { inside } else { y < 15 } {
            *d.output.add(if BUG { y * 15 + x } else { y * 16 + x }) = tile.at(x * 17 + y); // <-
        }
    }

    /// The output's tail is dropped when the size is no multiple of the tile.
    Init tail_of_the_last_tile { block: 64, reads: 100 } |d| {
        let t = thread_index();
        let tiles = if BUG { 100 / 64 } else { 100usize.div_ceil(64) };
        for tile in 0..tiles {
            let i = tile * 64 + t;
            if i < 100 {
                *d.output.add(i) = d.input.at(i); // <-
            }
        }
    }

    /// The last tile of a product is read to its full width though the matrix ends before.
    Init tail_of_a_product { block: 64, reads: 64 } |d| {
        // Eight by eight threads, an inner dimension of 12 in tiles of 8.
        let (a, t) = (shared_array![u32; 64], thread_index());
        let (x, y) = (t % 8, t / 8);
        let mut sum = 0;
        for phase in 0..2 {
            if phase * 8 + x < 12 {
                *a.add(y * 8 + x) = d.input.at(y * 12 + phase * 8 + x);
            } else if !BUG {
                *a.add(y * 8 + x) = 0;
            } else {
                // What the first tile left is no zero either; here it is made plain.
                *a.add(y * 8 + x) = d.output.at(t);
            }
            sync_threads();
            for k in 0..8 {
                sum += a.at(y * 8 + k);
            }
            sync_threads();
        }
        *d.scratch.add(t) = sum;
        *d.output.add(t) = sum; // <-
    }

    /// A product's first barrier is missing.
    Race product_first_barrier { block: 256 } |d| {
        let (a, b, t) = (shared_array![u32; 256], shared_array![u32; 256], thread_index());
        let (x, y) = (t % 16, t / 16);
        let mut sum = 0;
        for phase in 0..2 {
            *a.add(t) = d.input.at(phase * 256 + t); // <-
            *b.add(t) = d.input.at(512 + phase * 128 + t); // <-
            if !BUG {
                sync_threads();
            }
            for k in 0..16 {
                sum += a.at(y * 16 + k) * b.at(k * 16 + x); // <-
            }
            sync_threads();
        }
        *d.output.add(t) = sum;
    }

    /// Two dynamic arrays are taken to be distinct: both start at the same address.
    Race two_dynamic_arrays { dynamic: 512 } |d| {
        let (a, t) = (dynamic_shared_mem::<u32>(), thread_index());
        let b = if BUG { dynamic_shared_mem::<u32>() } else { a.add(64) };
        *a.add(t) = d.input.at(t); // <-
        *b.add(63 - t) = d.input.at(64 + t); // <-
        sync_threads();
        *d.output.add(t) = a.at(t) + b.at(t);
    }

    /// The launch asks for less dynamic shared memory than the kernel's tiles take.
    Memory dynamic_size_too_small { dynamic: 384 } |d| {
        let (a, t) = (dynamic_shared_mem::<u32>(), thread_index());
        let b = a.add(if BUG { 64 } else { 32 });
        if t < 32 {
            *a.add(t) = d.input.at(t); // <-
        }
        sync_threads();
        *b.add(t) = d.input.at(t); // <-
        sync_threads();
        *d.output.add(t) = b.at(t);
    }

    /// The second tile is loaded through the first matrix's pitch: the last rows lie outside.
    Memory pitch_of_the_other { block: 64 } |d| {
        // `n` is 1024: 64 rows of 16, read as if they had 17.
        let t = thread_index();
        *d.output.add(t) = d.input.at(t * if BUG { 17 } else { 16 } + 15); // <-
    }

    /// Swapped block dimensions: rows beyond the last are written.
    Memory rows_beyond_the_last { grid: 2, block: 64 } |d| {
        // 128 rows of 8.
        let row = crate::global_index();
        for column in 0..8 {
            *d.output.add(if BUG { column * 256 + row } else { row * 8 + column }) = 1; // <-
        }
    }

    /// Every thread reads its right neighbour's tile word, the last one the pad that was never written.
    Init pad_column { block: 64, reads: 64 } |d| {
        let (tile, t) = (shared_array![u32; 72], thread_index());
        let (x, y) = (t % 8, t / 8);
        *tile.add(y * 9 + x) = d.input.at(t);
        sync_threads();
        *d.output.add(t) = tile.at(y * 9 + if BUG { x + 1 } else { (x + 1) % 8 }); // <-
    }
}
