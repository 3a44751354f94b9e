//! The kernel is right; the launch gives it too little dynamic shared memory. Nothing in the kernel can tell.

use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use tile::DynamicTile;

use crate::EDGE;
use crate::two_arrays::multiply;

/// Bytes of dynamic shared memory of a launch that thinks of one tile.
pub const BYTES_BEFORE: u32 = (EDGE * EDGE * size_of::<f32>()) as u32;
/// Bytes of dynamic shared memory that two tiles take.
pub const BYTES_AFTER: u32 = 2 * (EDGE * EDGE * size_of::<f32>()) as u32;

/// C = A · B.
///
/// # Safety
/// `a`, `b` and `c` hold n × n elements; blocks are 16 × 16, with [`BYTES_AFTER`] of dynamic shared memory.
#[kernel]
pub unsafe fn too_little_memory(n: u32, a: &[f32], b: &[f32], c: *mut f32) {
    // SAFETY: two tiles of 256 elements lie behind each other, if the launch says so.
    unsafe {
        let tile_a = DynamicTile::new(dynamic_shared_mem::<f32>(), EDGE, 1);
        let tile_b = DynamicTile::new(dynamic_shared_mem::<f32>().add(EDGE * EDGE), EDGE, 1);
        multiply(n, a, b, c, tile_a, tile_b)
    }
}
