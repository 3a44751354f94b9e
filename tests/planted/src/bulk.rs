//! Bulk copies and the products of warpgroups: hardware that goes its own way, sees plain stores behind a fence between the
//! proxies only, and has to be waited for.

use crate::case::{Unchecked, twins};
use crate::phases::{make, wait};
use crate::thread_index;
use cuda_std::thread::sync_threads;
use cuda_std::{ptx, shared_array};

/// Bulk copies move multiples of 16 bytes, from and to multiples of 16.
#[derive(Clone, Copy)]
#[repr(C, align(128))]
struct Line([u32; 32]);

/// Arrives, and makes the phase wait for `bytes` bytes.
#[inline(always)]
unsafe fn arrive_expecting(barrier: *mut u64, bytes: u32) {
    // SAFETY: the caller's.
    unsafe {
        ptx!("{{ .reg .u64 wide, state; .reg .u32 at; cvta.to.shared.u64 wide, {b}; cvt.u32.u64 at, wide; \
              mbarrier.arrive.expect_tx.shared::cta.b64 state, [at], {n}; }}",
             b = in(ptr) barrier, n = in(u32) bytes)
    }
}

#[inline(always)]
unsafe fn bulk_in(to: *mut u32, from: *const u32, bytes: u32, barrier: *mut u64) {
    // SAFETY: the caller's.
    unsafe {
        ptx!("{{ .reg .u64 wide, from; .reg .u32 to, at; cvta.to.shared.u64 wide, {to}; cvt.u32.u64 to, wide; \
              cvta.to.shared.u64 wide, {b}; cvt.u32.u64 at, wide; cvta.to.global.u64 from, {from}; \
              cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], {n}, [at]; }}",
             to = in(ptr) to, from = in(ptr) from, n = in(u32) bytes, b = in(ptr) barrier)
    }
}

#[inline(always)]
unsafe fn bulk_out(to: *mut u32, from: *const u32, bytes: u32) {
    // SAFETY: the caller's.
    unsafe {
        ptx!("{{ .reg .u64 wide, to; .reg .u32 at; cvta.to.shared.u64 wide, {from}; cvt.u32.u64 at, wide; \
              cvta.to.global.u64 to, {to}; cp.async.bulk.global.shared::cta.bulk_group [to], [at], {n}; \
              cp.async.bulk.commit_group; }}",
             to = in(ptr) to, from = in(ptr) from, n = in(u32) bytes)
    }
}

/// Waits until bulk copies have read shared memory.
#[inline(always)]
unsafe fn wait_until_read() {
    // SAFETY: waits for this thread's own copies.
    unsafe { ptx!("cp.async.bulk.wait_group.read 0;") }
}

/// It has been written, too.
#[inline(always)]
unsafe fn wait_until_written() {
    // SAFETY: waits for this thread's own copies.
    unsafe { ptx!("cp.async.bulk.wait_group 0;") }
}

#[inline(always)]
unsafe fn proxy_fence() {
    // SAFETY: orders this thread's own stores.
    unsafe { ptx!("fence.proxy.async.shared::cta;") }
}

/// Starts a product of 64 by 8 by 16 halves, whose operands lie in core matrices of 128 bytes.
#[inline(always)]
unsafe fn start_product(sums: &mut [f32; 4], a: *const u32, b: *const u32) {
    // SAFETY: the caller's.
    unsafe {
        ptx!("{{ .reg .u64 a, b; .reg .pred none; cvta.to.shared.u64 a, {a}; cvta.to.shared.u64 b, {b}; \
              shr.u64 a, a, 4; shr.u64 b, b, 4; or.b64 a, a, 0x800400000; or.b64 b, b, 0x800080000; \
              setp.ne.u32 none, 0, 0; wgmma.fence.sync.aligned; \
              wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{sums}}}, a, b, none, 1, 1, 0, 0; \
              wgmma.commit_group.sync.aligned; }}",
             sums = inout([f32; 4]) sums, a = in(ptr) a, b = in(ptr) b; options(convergent))
    }
}

/// Waits for the products; the sums are named so that nothing reads them before.
#[inline(always)]
unsafe fn wait_for_products(sums: &mut [f32; 4]) {
    // SAFETY: the caller's.
    unsafe {
        ptx!("wgmma.wait_group.sync.aligned 0; // {sums}", sums = inout([f32; 4]) sums; options(convergent))
    }
}

/// Shared memory for both operands of a product, filled with halves of zero, and the second's place in it.
#[inline(always)]
unsafe fn operands(tile: *mut u32, t: usize) -> *mut u32 {
    for word in 0..5 {
        // SAFETY: 640 words are there.
        unsafe { *tile.add(word * 128 + t) = 0 };
    }
    // SAFETY: as above.
    unsafe { tile.add(512) }
}

twins! {
    /// A bulk copy is read behind a block barrier, before its phase is complete.
    Race bulk_read_before_its_phase {} |d| {
        let (full, tile, t) = (shared_array![u64; 1], shared_array![Line; 2].cast::<u32>(), thread_index());
        if t == 0 {
            make(full, 1);
        }
        sync_threads();
        if t == 0 {
            bulk_in(tile, d.input, 256, full); // <-
            arrive_expecting(full, 256);
        }
        if BUG {
            sync_threads();
        } else {
            wait(full, 0);
        }
        *d.output.add(t) = tile.at(63 - t); // <-
        wait(full, 0);
    }

    /// A tile is filled anew while the next bulk copy into it is under way.
    Race bulk_into_a_tile_in_use {} |d| {
        let (full, tile, t) = (shared_array![u64; 1], shared_array![Line; 2].cast::<u32>(), thread_index());
        if t == 0 {
            make(full, 1);
        }
        sync_threads();
        let mut sum = 0;
        for step in 0..3 {
            if t == 0 {
                bulk_in(tile, d.input.add(64 * step), 256, full); // <-
                arrive_expecting(full, 256);
            }
            wait(full, step as u32 % 2);
            sum += tile.at(63 - t); // <-
            if !BUG {
                sync_threads();
            }
        }
        *d.output.add(t) = sum;
    }

    /// The source of a bulk copy in shared memory is overwritten before it was read.
    Race bulk_source_overwritten {} |d| {
        let (tile, t) = (shared_array![Line; 2].cast::<u32>(), thread_index());
        *tile.add(t) = d.input.at(t);
        proxy_fence();
        sync_threads();
        if t == 0 {
            bulk_out(d.output, tile, 256); // <-
            if !BUG {
                wait_until_read();
            }
        }
        sync_threads();
        *tile.add(t) = 0; // <-
        sync_threads();
        *d.scratch.add(t) = tile.at(63 - t);
        if t == 0 {
            wait_until_written();
        }
    }

    /// Plain stores into a tile that a bulk copy takes out, without a fence between the proxies.
    Race bulk_without_proxy_fence {} |d| {
        let (tile, t) = (shared_array![Line; 2].cast::<u32>(), thread_index());
        *tile.add(t) = d.input.at(t); // <-
        if !BUG {
            proxy_fence();
        }
        sync_threads();
        if t == 0 {
            bulk_out(d.output, tile, 256); // <-
            wait_until_written();
        }
    }

    /// A bulk copy's target is read when its source has been read, which says nothing of the target.
    Race bulk_read_back_too_early {} |d| {
        let (tile, t) = (shared_array![Line; 2].cast::<u32>(), thread_index());
        *tile.add(t) = d.input.at(t);
        proxy_fence();
        sync_threads();
        if t == 0 {
            bulk_out(d.output, tile, 256); // <-
            if BUG {
                wait_until_read();
            } else {
                wait_until_written();
            }
        }
        sync_threads();
        *d.scratch.add(t) = d.output.at(63 - t); // <-
    }

    /// One word of the tile that a bulk copy takes out was left out.
    Init bulk_out_of_a_gap {reads: 64} |d| {
        let (tile, t) = (shared_array![Line; 2].cast::<u32>(), thread_index());
        if !BUG || t != 5 {
            *tile.add(t) = d.input.at(t);
        }
        proxy_fence();
        sync_threads();
        if t == 0 {
            bulk_out(d.output, tile, 256);
            wait_until_written();
        }
    }

    /// A bulk copy brings words that were never written, and one decides a branch.
    Init bulk_of_nothing {} |d| {
        let (full, tile, t) = (shared_array![u64; 1], shared_array![Line; 2].cast::<u32>(), thread_index());
        if t == 0 {
            make(full, 1);
        }
        sync_threads();
        if t == 0 {
            bulk_in(tile, if BUG { d.output } else { d.input }, 256, full);
            arrive_expecting(full, 256);
        }
        wait(full, 0);
        if tile.at(63 - t) > 5 { // <-
            *d.scratch.add(t) = 1; // <-
        }
    }

    /// The phase waits for more bytes than the copies bring.
    Barrier bulk_expects_too_much {} |d| {
        let (full, tile, t) = (shared_array![u64; 1], shared_array![Line; 2].cast::<u32>(), thread_index());
        if t == 0 {
            make(full, 1);
        }
        sync_threads();
        if t == 0 {
            bulk_in(tile, d.input, 256, full);
            arrive_expecting(full, if BUG { 512 } else { 256 });
        }
        wait(full, 0); // <-
        *d.output.add(t) = tile.at(63 - t);
    }

    /// A bulk copy starts at a word that is no multiple of 16 bytes.
    Memory bulk_misaligned {} |d| {
        let (full, tile, t) = (shared_array![u64; 1], shared_array![Line; 2].cast::<u32>(), thread_index());
        if t == 0 {
            make(full, 1);
        }
        sync_threads();
        if t == 0 {
            bulk_in(tile, d.input.add(if BUG { 6 } else { 8 }), 256, full); // <-
            arrive_expecting(full, 256);
        }
        wait(full, 0);
        *d.output.add(t) = tile.at(63 - t);
    }

    /// The last bulk copy of a row goes beyond the buffer.
    Memory bulk_beyond_the_buffer {} |d| {
        let (full, tile, t) = (shared_array![u64; 1], shared_array![Line; 2].cast::<u32>(), thread_index());
        if t == 0 {
            make(full, 1);
        }
        sync_threads();
        if t == 0 {
            let last = d.n as usize - if BUG { 32 } else { 64 };
            bulk_in(tile, d.input.add(last), 256, full); // <-
            arrive_expecting(full, 256);
        }
        wait(full, 0);
        *d.output.add(t) = tile.at(63 - t);
    }

    /// An operand of a product is overwritten before the product was awaited.
    Race product_operand_overwritten {block: 128} |d| {
        let (tile, t) = (shared_array![Line; 20].cast::<u32>(), thread_index());
        let (second, mut sums) = (operands(tile, t), [0.0; 4]);
        proxy_fence();
        sync_threads();
        start_product(&mut sums, tile, second); // <-
        if !BUG {
            wait_for_products(&mut sums);
        }
        sync_threads();
        *tile.add(t) = d.input.at(t); // <-
        if BUG {
            wait_for_products(&mut sums);
        }
        *d.output.add(t) = (sums[0] + sums[1] + sums[2] + sums[3]) as u32 + tile.at(t);
    }

    /// The sums of a product are used before the product was awaited.
    Race product_result_too_early {block: 128} |d| {
        let (tile, t) = (shared_array![Line; 20].cast::<u32>(), thread_index());
        let (second, mut sums) = (operands(tile, t), [0.0; 4]);
        proxy_fence();
        sync_threads();
        start_product(&mut sums, tile, second); // <-
        let mut early = 0.0;
        if BUG {
            early = sums[0] + sums[1]; // <-
            *d.scratch.add(t) = early as u32; // <-
        }
        wait_for_products(&mut sums);
        *d.output.add(t) = (sums[0] + sums[1] + early) as u32;
    }

    /// Plain stores into an operand, without a fence between the proxies.
    Race product_without_proxy_fence {block: 128} |d| {
        let (tile, t) = (shared_array![Line; 20].cast::<u32>(), thread_index());
        let (second, mut sums) = (operands(tile, t), [0.0; 4]);
        if !BUG {
            proxy_fence();
        }
        sync_threads();
        start_product(&mut sums, tile, second); // <-
        wait_for_products(&mut sums);
        *d.output.add(t) = (sums[0] + sums[1] + sums[2] + sums[3]) as u32;
    }
}
