//! The fast transposes for Hopper: [`vectorised`](crate::transpose::vectorised) and [`shifted`](crate::transpose::shifted) with more.
//!
//! - **Launches overlap.** The blocks of the next launch wait on the multiprocessors already while the last ones of this
//!   one store. Between two launches pass 1 to 2 µs, of the 35 µs in which 8192² bytes are copied: 0.95 of the driver's
//!   copy becomes 0.99.
//! - **Lines in pairs.** Where rows begin inside of a line of 128 bytes, two blocks need it, at different times. L2 is
//!   told to fetch 256 bytes around what is asked for: at 10000² f32 goes from 0.94 to 0.98, f16 from 0.945 to 0.99.
//!
//! Where whole vectors are moved, two things more:
//! - **Whole sectors.** Where rows of the result begin in the middle of a sector of 32 bytes, a block owns the sectors that
//!   begin in its rows, and its tile is a vector higher than what it stores: bytes at 10000² go from 0.94 to 0.98.
//! - **Two windows**, where rows are a multiple of 128 KiB apart ([`windows`](crate::transpose::tiling::windows)).

use crate::transpose::tiling::Tile;

/// The tile for elements of 8 bytes: 256 bytes of a row, as the other tiles have, and 512 of a column.
pub const TILE_8: Tile = Tile { rows: 64, cols: 32, threads: 512 };

/// The kernels of [`vectorised`](crate::transpose::vectorised).
pub mod vectorised {
    use cuda_std::prelude::*;

    use super::TILE_8;
    use crate::transpose::vectorised::{TILE_1, TILE_2, TILE_4, TILE_16, kernels};

    kernels! { true;
        /// Bytes.
        transpose_hopper_1_byte: u8, u16, 2, TILE_1, 1024;
        /// Elements of 2 bytes.
        transpose_hopper_2_bytes: u16, u32, 2, TILE_2, 1024;
        /// Elements of 4 bytes.
        transpose_hopper_4_bytes: u32, u32, 1, TILE_4, 512;
        /// Elements of 8 bytes.
        transpose_hopper_8_bytes: u64, u64, 1, TILE_8, 512;
        /// Elements of 16 bytes.
        transpose_hopper_16_bytes: u128, tile::Vector, 1, TILE_16, 512;
    }
}

/// The kernels of [`shifted`](crate::transpose::shifted).
pub mod shifted {
    use cuda_std::prelude::*;

    use crate::transpose::shifted::{self, kernels};

    kernels! { true, 4;
        /// Bytes, rows that begin anywhere.
        transpose_hopper_shifted_1_byte: u8, u32, 4, TILE_1, 512, shifted::SIDE_1;
        /// Elements of 2 bytes, rows that begin anywhere.
        transpose_hopper_shifted_2_bytes: u16, u32, 2, TILE_2, 512, 1;
        /// Elements of 4 bytes, rows that begin anywhere.
        transpose_hopper_shifted_4_bytes: u32, u32, 1, TILE_4, 512, 1;
        /// Elements of 8 bytes, rows that begin anywhere.
        transpose_hopper_shifted_8_bytes: u64, u64, 1, TILE_8, 512, 1;
    }
}

/// The same in tiles half as wide.
pub mod narrow {
    use cuda_std::prelude::*;

    use crate::transpose::shifted::kernels;

    kernels! { true, 2;
        /// Bytes, rows that begin anywhere, tiles half as wide.
        transpose_hopper_narrow_1_byte: u8, u32, 4, NARROW_1, 256, 1;
        /// Elements of 2 bytes, rows that begin anywhere, tiles half as wide.
        transpose_hopper_narrow_2_bytes: u16, u32, 2, NARROW_2, 256, 1;
        /// Elements of 4 bytes, rows that begin anywhere, tiles half as wide.
        transpose_hopper_narrow_4_bytes: u32, u32, 1, NARROW_4, 512, 1;
    }
}
