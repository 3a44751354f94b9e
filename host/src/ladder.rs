//! The steps from tiles to the fast product, launched by name: [`STEPS`] says what each is and what it takes.

use cuda_std::Kernel;
use cust::memory::DeviceBuffer;
use kernels_gpu::matmul::Gemm;
use kernels_gpu::matmul::ladder::registers_1d;

use crate::device::Device;
use crate::error::Error;
use crate::launch::Shape;

/// A step of the ladder.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The kernel.
    pub kernel: &'static str,
    /// What is new in it.
    pub new: &'static str,
    /// What m, n and k are multiples of.
    pub tile: (usize, usize, usize),
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
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
        // SAFETY: `multiply` compared extents, buffers and shape with what the kernels ask for.
        |device, shape, p, a, b, c| unsafe { device.kernel::<$kernel>()?.launch(shape, (p, a, b, c)) }
    };
}

/// The steps, in order.
pub const STEPS: &[Step] = &[Step {
    kernel: registers_1d::matmul_registers_1d::NAME,
    new: "8 rows of a column a thread: 9 loads from shared memory for 8 multiply-adds",
    tile: (registers_1d::BLOCK, registers_1d::BLOCK, registers_1d::STEP),
    threads: 512,
    shared: 0,
    launch: launch!(registers_1d::matmul_registers_1d),
}];

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
        Ok(Shape::tiles((n, m), (tile.1, tile.0), (self.threads, 1)).with_shared(self.shared))
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
