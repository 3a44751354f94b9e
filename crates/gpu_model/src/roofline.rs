//! Roofline: what bounds a kernel, its arithmetic or its memory traffic.
//!
//! The ratio of floating-point operations to global memory traffic (CGMA, "compute to global memory access", or
//! arithmetic intensity) times the memory's bandwidth is the most that memory can feed; the chip's peak is the most
//! that its cores can do. A kernel attains the smaller of the two at best.

use serde::Serialize;

use crate::Chip;

/// Bytes of the access that a CGMA ratio counts: one f32.
pub const ACCESS_BYTES: f64 = 4.0;

/// A chip as two lines: operations and bytes per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Roofline {
    /// Floating-point operations per second.
    pub flops: f64,
    /// Bytes per second from global memory.
    pub bandwidth: f64,
}

/// Which of the two lines is lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Global memory cannot feed more.
    Memory,
    /// The cores cannot do more.
    Compute,
}

/// The unit of most of a kernel's arithmetic: it decides how high the roof is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arithmetic {
    /// The cores, in `f32`.
    F32,
    /// Tensor cores, in `f16` or `bf16`.
    TensorF16,
    /// Tensor cores, in `tf32`.
    TensorTf32,
    /// Tensor cores, in `f64`.
    TensorF64,
    /// Tensor cores, in floating-point numbers of eight bits.
    TensorF8,
    /// Tensor cores, in integers of eight bits.
    TensorS8,
}

impl Arithmetic {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32 arithmetic",
            Self::TensorF16 => "f16 or bf16 on tensor cores",
            Self::TensorTf32 => "tf32 on tensor cores",
            Self::TensorF64 => "f64 on tensor cores",
            Self::TensorF8 => "8-bit floating point on tensor cores",
            Self::TensorS8 => "8-bit integers on tensor cores",
        }
    }
}

impl Roofline {
    /// The lines of a chip, for f32.
    pub fn of(chip: &Chip) -> Self {
        Self { flops: chip.fp32_flops(), bandwidth: chip.memory_bandwidth() }
    }

    /// The lines of a chip for one kind of arithmetic; `None` if the chip does not do it.
    ///
    /// ```
    /// use gpu_model::chips::{H200, T4};
    /// use gpu_model::roofline::{Arithmetic, Roofline};
    ///
    /// let tensor = Roofline::for_arithmetic(&H200, Arithmetic::TensorF16).unwrap();
    /// assert_eq!(tensor.flops, 16.0 * Roofline::of(&H200).flops);
    /// assert!(Roofline::for_arithmetic(&T4, Arithmetic::TensorTf32).is_none());
    /// ```
    pub fn for_arithmetic(chip: &Chip, arithmetic: Arithmetic) -> Option<Self> {
        let multiply_adds = match arithmetic {
            Arithmetic::F32 => chip.sm.fp32_lanes,
            Arithmetic::TensorF16 => chip.tensor.f16,
            Arithmetic::TensorTf32 => chip.tensor.tf32,
            Arithmetic::TensorF64 => chip.tensor.f64,
            Arithmetic::TensorF8 => chip.tensor.f8,
            Arithmetic::TensorS8 => chip.tensor.s8,
        };
        (multiply_adds > 0)
            .then(|| Self { flops: chip.flops(multiply_adds), bandwidth: chip.memory_bandwidth() })
    }

    /// Operations per second that a kernel of this intensity (operations per byte) attains at best.
    ///
    /// ```
    /// use gpu_model::roofline::Roofline;
    ///
    /// let chip = Roofline { flops: 1500e9, bandwidth: 200e9 };
    /// assert_eq!(chip.attainable(0.25), 50e9);
    /// assert_eq!(chip.ridge() * 4.0, 30.0);
    /// ```
    pub fn attainable(&self, intensity: f64) -> f64 {
        (intensity * self.bandwidth).min(self.flops)
    }

    /// The intensity from which on the cores are the limit, in operations per byte.
    pub fn ridge(&self) -> f64 {
        self.flops / self.bandwidth
    }

    /// The bound of a kernel of this intensity.
    pub fn bound(&self, intensity: f64) -> Bound {
        if intensity < self.ridge() { Bound::Memory } else { Bound::Compute }
    }
}

/// Operations and traffic of a kernel, counted or computed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WorkAndTraffic {
    /// Operations; a multiply-add counts two.
    pub operations: f64,
    /// Bytes that lanes ask of global memory, each access counted.
    pub requested_bytes: f64,
    /// Bytes that move, in whole sectors.
    pub moved_bytes: f64,
}

impl WorkAndTraffic {
    /// Operations per access of four bytes: the CGMA ratio.
    pub fn cgma(&self) -> f64 {
        self.operations / (self.requested_bytes / ACCESS_BYTES)
    }

    /// Operations per byte moved.
    pub fn intensity(&self) -> f64 {
        self.operations / self.moved_bytes
    }

    /// A multiplication of `m`×`k` by `k`×`n` matrices of f32 whose blocks share tiles with edges of `tile` elements
    /// (1 is the naive kernel). Every element of a tile is loaded once for `tile` uses.
    pub fn matmul(m: u64, n: u64, k: u64, tile: u64) -> Self {
        let products = m as f64 * n as f64 * k as f64;
        let bytes = (2.0 * products / tile.max(1) as f64) * ACCESS_BYTES;
        Self { operations: 2.0 * products, requested_bytes: bytes, moved_bytes: bytes }
    }
}

/// The worked example of the texts, computed: 200 GB/s, 1,500 GFLOP/s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CgmaExample {
    /// The chip.
    pub roofline: Roofline,
    /// Operands (f32) per second that memory feeds.
    pub operands: f64,
    /// The CGMA ratio of the naive matmul: one multiply and one add for two loads.
    pub naive_cgma: f64,
    /// Operations per second at that ratio.
    pub naive_attainable: f64,
    /// The ratio at which the cores become the limit.
    pub needed_cgma: f64,
    /// The ratio with 16×16 tiles.
    pub tiled_cgma: f64,
    /// Operations per second at that ratio.
    pub tiled_attainable: f64,
}

impl CgmaExample {
    /// Computes the example.
    pub fn new() -> Self {
        let roofline = Roofline { flops: 1500e9, bandwidth: 200e9 };
        let naive = WorkAndTraffic::matmul(1024, 1024, 1024, 1);
        let tiled = WorkAndTraffic::matmul(1024, 1024, 1024, 16);
        Self {
            roofline,
            operands: roofline.bandwidth / ACCESS_BYTES,
            naive_cgma: naive.cgma(),
            naive_attainable: roofline.attainable(naive.intensity()),
            needed_cgma: roofline.ridge() * ACCESS_BYTES,
            tiled_cgma: tiled.cgma(),
            tiled_attainable: roofline.attainable(tiled.intensity()),
        }
    }
}

impl Default for CgmaExample {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chips::H200;

    #[test]
    fn the_texts_numbers_come_out() {
        let example = CgmaExample::new();
        assert_eq!(example.operands, 50e9);
        assert_eq!(example.naive_cgma, 1.0);
        assert_eq!(example.naive_attainable, 50e9);
        assert_eq!(example.needed_cgma, 30.0);
        assert_eq!(example.tiled_cgma, 16.0);
        assert_eq!(example.tiled_attainable, 800e9);
    }

    #[test]
    fn the_lower_line_bounds() {
        let h200 = Roofline::of(&H200);
        assert_eq!(h200.bound(0.25), Bound::Memory);
        assert_eq!(h200.bound(100.0), Bound::Compute);
        assert_eq!(h200.attainable(1e9), h200.flops);
    }
}
