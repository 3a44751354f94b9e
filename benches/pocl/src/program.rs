//! The programs: ten kernels of this repository and their twins in OpenCL C, on the same data.

/// A kernel, its twin, and what both are given.
pub struct Program {
    pub name: &'static str,
    /// The device crate that has the kernel.
    pub source: Source,
    pub kernel: &'static str,
    pub twin: &'static str,
    pub grid: [u32; 2],
    pub block: [u32; 2],
    /// Contents of the buffers before the first launch.
    pub buffers: Vec<Vec<u8>>,
    pub arguments: Vec<Argument>,
    pub twin_arguments: Vec<Argument>,
    /// The buffer that both must leave alike after the first launch, and what it holds.
    pub result: (usize, Element),
    /// Floating-point operations of a launch, where that is how its speed is told.
    pub operations: Option<f64>,
}

/// A device crate, by its folder from the repository's root.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Kernels,
    Blockwise,
    Saxpy,
}

impl Source {
    pub const ALL: [Source; 3] = [Source::Kernels, Source::Blockwise, Source::Saxpy];

    pub fn folder(self) -> &'static str {
        match self {
            Source::Kernels => "kernels-gpu",
            Source::Blockwise => "tests/blockwise",
            Source::Saxpy => "crates/launch/examples/kernels",
        }
    }

    /// The name of its PTX.
    pub fn ptx(self) -> &'static str {
        match self {
            Source::Kernels => "kernels.ptx",
            Source::Blockwise => "blockwise.ptx",
            Source::Saxpy => "saxpy.ptx",
        }
    }
}

#[derive(Clone, Copy)]
pub enum Element {
    F32,
    U32,
}

#[derive(Clone, Copy)]
pub enum Argument {
    /// Where a buffer lies.
    Buffer(usize),
    U32(u32),
    U64(u64),
    F32(f32),
    /// `kernels_gpu::gemm::Gemm`, of the product of two square matrices.
    Gemm([u32; 5]),
}

impl Argument {
    /// A number as a launch takes it; nothing of a buffer, whose address the device knows.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Argument::Buffer(_) => Vec::new(),
            Argument::U32(value) => value.to_le_bytes().to_vec(),
            Argument::U64(value) => value.to_le_bytes().to_vec(),
            Argument::F32(value) => value.to_le_bytes().to_vec(),
            Argument::Gemm(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }
}

use Argument::{Buffer, F32, U32, U64};

/// Small whole numbers: sums and products of theirs are exact, in whatever order.
fn floats(count: usize) -> Vec<u8> {
    (0..count).flat_map(|i| (((i * 7 + i / 5) % 17) as f32 - 8.0).to_le_bytes()).collect()
}

fn zeros(count: usize) -> Vec<u8> {
    vec![0; 4 * count]
}

const N: u32 = 1 << 20;

pub fn all() -> Vec<Program> {
    vec![
        Program {
            name: "saxpy, 2^20",
            source: Source::Saxpy,
            kernel: "saxpy",
            twin: "saxpy",
            grid: [N / 256, 1],
            block: [256, 1],
            buffers: vec![floats(N as usize), floats(N as usize)],
            arguments: vec![F32(2.0), Buffer(0), U64(N.into()), Buffer(1)],
            twin_arguments: vec![F32(2.0), Buffer(0), Buffer(1), U32(N)],
            result: (1, Element::F32),
            operations: None,
        },
        product("matmul_naive", 256, "naive product, 256^3", "naive"),
        product("matmul_tiled_16", 512, "tiled product, 512^3", "tiled"),
        product("matmul_column_16", 256, "column-order tiles, 256^3", "column_order"),
        transpose(2048),
        Program {
            name: "block reduction, 2^20",
            source: Source::Blockwise,
            kernel: "raw_sums",
            twin: "sums",
            grid: [64, 1],
            block: [256, 1],
            buffers: vec![floats(N as usize), zeros(64)],
            arguments: vec![Buffer(0), U64(N.into()), Buffer(1)],
            twin_arguments: vec![Buffer(0), U32(N), Buffer(1)],
            result: (1, Element::F32),
            operations: None,
        },
        Program {
            name: "histogram, 2^20 bytes",
            source: Source::Blockwise,
            kernel: "raw_histogram_shared",
            twin: "histogram",
            grid: [64, 1],
            block: [256, 1],
            buffers: vec![(0..N).map(|i| (i.wrapping_mul(i) >> 3) as u8).collect(), zeros(256)],
            arguments: vec![Buffer(0), U64(N.into()), Buffer(1)],
            twin_arguments: vec![Buffer(0), U32(N), Buffer(1)],
            result: (1, Element::U32),
            operations: None,
        },
        stencil(1024),
        softmax(512, 1024),
        scan(),
    ]
}

fn product(kernel: &'static str, n: u32, name: &'static str, twin: &'static str) -> Program {
    let elements = (n * n) as usize;
    let slice = |buffer| [Buffer(buffer), U64(elements as u64)];
    let gemm = Argument::Gemm([n, n, n, 1f32.to_bits(), 0f32.to_bits()]);
    let [[a, a_len], [b, b_len]] = [slice(0), slice(1)];
    Program {
        name,
        source: Source::Kernels,
        kernel,
        twin,
        grid: [n / 16, n / 16],
        block: [16, 16],
        buffers: vec![floats(elements), floats(elements), zeros(elements)],
        arguments: vec![gemm, a, a_len, b, b_len, Buffer(2)],
        twin_arguments: vec![U32(n), Buffer(0), Buffer(1), Buffer(2)],
        result: (2, Element::F32),
        operations: Some(2.0 * f64::from(n).powi(3)),
    }
}

fn transpose(n: u32) -> Program {
    let elements = (n * n) as usize;
    Program {
        name: "padded transpose, 2048^2",
        source: Source::Kernels,
        kernel: "transpose_padded",
        twin: "transpose",
        grid: [n / 32, n / 32],
        block: [32, 8],
        buffers: vec![floats(elements), zeros(elements)],
        arguments: vec![U32(n), U32(n), Buffer(0), U64(elements as u64), Buffer(1)],
        twin_arguments: vec![U32(n), Buffer(0), Buffer(1)],
        result: (1, Element::F32),
        operations: None,
    }
}

fn stencil(n: u32) -> Program {
    let elements = (n * n) as usize;
    let extents = U64(u64::from(n) << 32 | u64::from(n));
    Program {
        name: "stencil with halo, 1024^2",
        source: Source::Blockwise,
        kernel: "safe_stencil",
        twin: "stencil",
        grid: [n / 16, n / 16],
        block: [16, 16],
        buffers: vec![floats(elements), zeros(elements)],
        arguments: vec![Buffer(0), U64(elements as u64), extents, Buffer(1), extents],
        twin_arguments: vec![U32(n), Buffer(0), Buffer(1)],
        result: (1, Element::F32),
        operations: None,
    }
}

fn softmax(rows: u32, cols: u32) -> Program {
    let elements = (rows * cols) as usize;
    Program {
        name: "softmax, 512 rows of 1024",
        source: Source::Blockwise,
        kernel: "raw_softmax",
        twin: "softmax",
        grid: [rows, 1],
        block: [128, 1],
        buffers: vec![floats(elements), zeros(elements)],
        arguments: vec![Buffer(0), U32(cols), Buffer(1)],
        twin_arguments: vec![Buffer(0), U32(cols), Buffer(1)],
        result: (1, Element::F32),
        operations: None,
    }
}

fn scan() -> Program {
    let elements = N as usize;
    Program {
        name: "scan of blocks, 2^20",
        source: Source::Blockwise,
        kernel: "raw_scan_parts",
        twin: "scan",
        grid: [N / 256, 1],
        block: [256, 1],
        buffers: vec![
            (0..N).flat_map(|i| (i % 13).to_le_bytes()).collect(),
            zeros(elements),
            zeros(elements),
            zeros(elements / 256),
        ],
        arguments: vec![Buffer(0), U64(N.into()), Buffer(1), Buffer(2), Buffer(3)],
        twin_arguments: vec![Buffer(0), U32(N), Buffer(1), Buffer(2), Buffer(3)],
        result: (1, Element::U32),
        operations: None,
    }
}
