//! The steps from tiles to the fast product, launched by name: [`STEPS`] says what each is and what it takes.

use cuda_std::Kernel;
use cust::memory::DeviceBuffer;
use kernels_gpu::ampere::ladder::{asynchronous, ordered, warps};
use kernels_gpu::base::ladder::{registers_1d, registers_2d, vectors};
use kernels_gpu::base::matmul::{naive, tiled};
use kernels_gpu::gemm::Gemm;
use warpsmith_launch::{Device, Shape};

use crate::error::Error;
use crate::modules::LEVELS;

#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub kernel: &'static str,
    pub new: &'static str,
    /// Divisors of m, n and k.
    pub tile: (usize, usize, usize),
    /// Threads of a block along x and y.
    pub block: (u32, u32),
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
    /// Whether A and B are slices, and not pointers.
    pub slices: bool,
    /// Whether the grid is one row of blocks.
    row_of_blocks: bool,
    launch: Launch,
}

type Launch = fn(
    &Device,
    Shape,
    Gemm,
    &DeviceBuffer<f32>,
    &DeviceBuffer<f32>,
    &mut DeviceBuffer<f32>,
) -> Result<(), Error>;

macro_rules! launch {
    ($kernel:ty) => {
        |device, shape, p, a, b, c| {
            // SAFETY: `multiply` compared extents, buffers and shape with what the kernels ask for.
            Ok(unsafe { device.kernel::<$kernel>(&LEVELS)?.launch(shape, (p, a, b, c))? })
        }
    };
}

macro_rules! step {
    ($kernel:ty, $tile:expr, $block:expr, $new:literal) => {
        Step {
            kernel: <$kernel>::NAME,
            new: $new,
            tile: $tile,
            block: $block,
            shared: 0,
            slices: false,
            row_of_blocks: false,
            launch: launch!($kernel),
        }
    };
}

/// The steps, in order.
pub const STEPS: &[Step] = &[
    Step {
        slices: true,
        ..step!(naive::matmul_naive, (16, 16, 1), (16, 16), "two loads from global memory for a multiply-add")
    },
    Step {
        slices: true,
        ..step!(
            tiled::matmul_tiled_32,
            (32, 32, 32),
            (32, 32),
            "tiles in shared memory: two loads from there for a multiply-add"
        )
    },
    step!(
        registers_1d::matmul_registers_1d,
        (registers_1d::BLOCK, registers_1d::BLOCK, registers_1d::STEP),
        (512, 1),
        "8 rows of a column a thread: 9 loads for 8 multiply-adds"
    ),
    step!(
        registers_2d::matmul_registers_2d,
        (registers_2d::BLOCK, registers_2d::BLOCK, registers_2d::STEP),
        (256, 1),
        "8 × 8 elements a thread: 16 loads for 64"
    ),
    step!(
        vectors::matmul_vectors,
        (vectors::BLOCK, vectors::BLOCK, vectors::STEP),
        (256, 1),
        "16 bytes a load: 4 loads for 64"
    ),
    step!(
        asynchronous::matmul_asynchronous,
        (asynchronous::BLOCK, asynchronous::BLOCK, asynchronous::STEP),
        (256, 1),
        "two stages, copied beside the arithmetic"
    ),
    step!(
        warps::matmul_warps,
        (warps::BLOCK_M, warps::BLOCK_N, warps::STEP),
        (256, 1),
        "a square of C for each warp, 16 × 8 elements a thread: 6 loads for 128"
    ),
    Step {
        shared: ordered::SHARED_BYTES,
        row_of_blocks: true,
        ..step!(
            ordered::matmul_ordered,
            (ordered::BLOCK_M, ordered::BLOCK_N, ordered::STEP),
            (256, 1),
            "loads a k ahead, four stages, multiply-adds in the register file's order"
        )
    },
];

impl Step {
    /// The launch for a product, or what its extents should be.
    pub fn shape(&self, p: Gemm) -> Result<Shape, Error> {
        let (m, n, k) = (p.m as usize, p.n as usize, p.k as usize);
        let tile = self.tile;
        if !(m.is_multiple_of(tile.0) && n.is_multiple_of(tile.1) && k.is_multiple_of(tile.2)) {
            return Err(Error::Size(format!(
                "`{}` takes m, n and k that are multiples of {}, {} and {}, not {m}, {n} and {k}",
                self.kernel, tile.0, tile.1, tile.2
            )));
        }
        let mut shape = Shape::tiles((n, m), (tile.1, tile.0), self.block).with_shared(self.shared);
        if self.row_of_blocks {
            shape.grid = [shape.grid[0] * shape.grid[1], 1, 1];
        }
        Ok(shape)
    }

    /// C = alpha · A · B + beta · C on the device.
    pub fn multiply(
        &self,
        device: &Device,
        p: Gemm,
        a: &DeviceBuffer<f32>,
        b: &DeviceBuffer<f32>,
        c: &mut DeviceBuffer<f32>,
    ) -> Result<(), Error> {
        let (m, n, k) = (p.m as usize, p.n as usize, p.k as usize);
        for (name, has, rows, cols) in [("A", a.len(), m, k), ("B", b.len(), k, n), ("C", c.len(), m, n)] {
            if rows * cols > has {
                return Err(Error::Size(format!(
                    "{name} is {rows} × {cols}, its buffer has {has} elements: make it that long"
                )));
            }
        }
        (self.launch)(device, self.shape(p)?, p, a, b, c)
    }
}
