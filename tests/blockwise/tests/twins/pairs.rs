//! Kernels without `unsafe`, each beside its twin in raw pointers: at which extents they are compared, and with what both are launched.
#![allow(dead_code, reason = "each of the tests and the bench asks for a part")]

pub struct Pair {
    pub safe: &'static str,
    pub raw: &'static str,
    /// The extent at which costs are counted in every run, and in the long one.
    pub counted: [u32; 2],
    /// The extents at which both are timed.
    pub timed: [u32; 3],
    make: fn(u32, safe: bool) -> (Shape, Parameters),
    /// How many times the twin's instructions it may execute, in hundredths, and why more than 103.
    pub most: (u64, &'static str),
}

impl Pair {
    /// The launch of one of the two kernels, and its parameters.
    pub fn launch(&self, kernel: &str, n: u32) -> (Shape, Vec<Parameter>) {
        let (shape, parameters) = (self.make)(n, kernel == self.safe);
        (shape, parameters.0)
    }
}

/// Blocks along x and y, a block's threads, and bytes of dynamic shared memory.
#[derive(Clone, Copy)]
pub struct Shape {
    pub grid: (u32, u32),
    pub block: (u32, u32),
    pub shared: u32,
}

impl Shape {
    pub fn new(grid: (u32, u32), block: (u32, u32)) -> Self {
        Self { grid, block, shared: 0 }
    }
    pub fn line(blocks: u32, threads: u32) -> Self {
        Self::new((blocks, 1), (threads, 1))
    }
}

/// A parameter of the PTX.
pub enum Parameter {
    Value(Vec<u8>),
    /// The address of so many bytes of [`content`].
    Memory(u64),
    /// The address of these bytes.
    Holding(Vec<u8>),
}

impl Parameter {
    /// The value, or what the memory holds whose address it is.
    pub fn made(self) -> Result<Vec<u8>, Vec<u8>> {
        match self {
            Parameter::Value(value) => Ok(value),
            Parameter::Memory(bytes) => Err(content(bytes)),
            Parameter::Holding(content) => Err(content),
        }
    }
}

/// What memory holds before the launch: small whole numbers as `f32`, whose sums and products are exact.
pub fn content(bytes: u64) -> Vec<u8> {
    // Repeated after 85 numbers; a large piece at once, for there are gigabytes.
    let number = |i: u32| ((i * 7 + i / 5) % 17) as f32 - 8.0;
    let piece: Vec<u8> = (0..85 * 1024).flat_map(|i| number(i % 85).to_le_bytes()).collect();
    let mut content = Vec::with_capacity(bytes as usize);
    while (content.len() as u64) < bytes {
        let rest = piece.len().min(bytes as usize - content.len());
        content.extend_from_slice(&piece[..rest]);
    }
    content
}

pub const AS_MANY: (u64, &str) = (103, "");

/// Elements of a line, and rows of a square, that are timed: within L2, about as much as it holds, and more.
const LINES: [u32; 3] = [1 << 20, 1 << 23, 1 << 25];
const SQUARES: [u32; 3] = [1024, 4096, 8192];
const PRODUCTS: [u32; 3] = [512, 1024, 2048];
const REGISTERS: [u32; 3] = [1024, 2048, 4096];

macro_rules! pairs {
    ($($safe:ident $raw:ident $counted:expr, $timed:expr, $make:expr, $most:expr;)*) => {
        [$(Pair {
            safe: stringify!($safe), raw: stringify!($raw), counted: $counted, timed: $timed, make: $make, most: $most,
        }),*]
    };
}

pub const PAIRS: [Pair; 24] = pairs! {
    safe_vecadd vecadd [1 << 16, 1 << 20], LINES, vecadd, AS_MANY;
    safe_matmul_naive matmul_naive [64, 512], PRODUCTS, |n, safe| product(n, safe, (16, 16), 16), AS_MANY;
    safe_matmul_tiled_16 matmul_tiled_16 [128, 512], PRODUCTS, |n, safe| product(n, safe, (16, 16), 16), AS_MANY;
    safe_matmul_tiled_32 matmul_tiled_32 [128, 512], PRODUCTS, |n, safe| product(n, safe, (32, 32), 32), AS_MANY;
    safe_matmul_column_order_16 matmul_column_16 [128, 512], PRODUCTS, |n, safe| product(n, safe, (16, 16), 16), AS_MANY;
    safe_matmul_column_order_padded_16 matmul_column_16_padded [128, 512], PRODUCTS, |n, safe| product(n, safe, (16, 16), 16), AS_MANY;
    safe_matmul_dynamic matmul_dynamic [128, 512], PRODUCTS, dynamic, AS_MANY;
    // These twins guard edges and rows that are no whole fours, as the kernels do; the ladder's step takes whole tiles only.
    safe_matmul_registers raw_matmul_registers [256, 512], REGISTERS, guarded_registers, AS_MANY;
    safe_matmul_registers matmul_vectors [512, 512], REGISTERS, registers, (104, "the twin takes whole tiles only, and guards nothing");
    safe_matmul_ahead raw_matmul_ahead [256, 512], REGISTERS, guarded_registers, AS_MANY;
    safe_transpose_naive transpose_naive [256, 4096], SQUARES, transpose, AS_MANY;
    safe_transpose_tile transpose_tile [256, 4096], SQUARES, transpose, AS_MANY;
    safe_transpose_padded transpose_padded [256, 4096], SQUARES, transpose, AS_MANY;
    safe_transpose_swizzled transpose_swizzled [256, 4096], SQUARES, transpose, AS_MANY;
    safe_offset copy_shifted [1 << 16, 1 << 20], LINES, |n, safe| copy(n, safe, Some(5), 4), AS_MANY;
    safe_missing_lanes copy_some_lanes [1 << 16, 1 << 20], LINES, |n, safe| copy(n, safe, Some(0x5555_5555), 4), AS_MANY;
    safe_copy_4_bytes copy_4_bytes [1 << 16, 1 << 20], LINES, |n, safe| copy(n, safe, None, 4), AS_MANY;
    safe_copy_8_bytes copy_8_bytes [1 << 16, 1 << 20], LINES, |n, safe| copy(n, safe, None, 8), AS_MANY;
    safe_copy_16_bytes copy_16_bytes [1 << 16, 1 << 20], LINES, |n, safe| copy(n, safe, None, 16), AS_MANY;
    safe_sums raw_sums [1 << 16, 1 << 20], LINES, sums, AS_MANY;
    safe_scan_parts raw_scan_parts [1 << 16, 1 << 20], LINES, scan, AS_MANY;
    safe_histogram_shared raw_histogram_shared [1 << 16, 1 << 20], LINES, histogram, AS_MANY;
    safe_softmax raw_softmax [256, 2048], SQUARES, softmax, AS_MANY;
    safe_sort_parts raw_sort_parts [1 << 14, 1 << 20], LINES, sort, AS_MANY;
};

type Make = fn(u32) -> (Shape, Parameters);

/// Kernels without a twin, whose counters were compared with hardware, too: the extent, and the launch.
pub const ALONE: [(&str, u32, Make); 7] = [
    ("safe_stencil", 64, |n| {
        let all = Parameters::default().matrix(n).output_matrix(n);
        (Shape::new((n.div_ceil(16), n.div_ceil(16)), (16, 16)), all)
    }),
    ("safe_attention", 100, |n| {
        let scale = Parameters::default().numbers(&[0.01f32.to_bits()]);
        let head = |all: Parameters| all.slice(64 * u64::from(n), 4).numbers(&[n, 64]);
        let all = head(head(head(scale))).memory(4 * 64 * u64::from(n)).numbers(&[n, 64]);
        (Shape::line(n, 64), all)
    }),
    ("safe_matvec", 256, |n| {
        let all = Parameters::default().matrix(n).slice(n.into(), 4).slice(n.into(), 4);
        (Shape::line(n, 128), all)
    }),
    ("safe_layer_norm", 256, |n| {
        let all = Parameters::default().numbers(&[1e-5f32.to_bits()]).matrix(n).output_matrix(n);
        (Shape::line(n, 128), all)
    }),
    ("safe_radix_pass", 1 << 14, |n| {
        let all = Parameters::default().number(3).slice(n.into(), 4).slice(n.into(), 4);
        (Shape::line(n.div_ceil(256), 256), all)
    }),
    ("safe_histogram_global", 1 << 16, |n| {
        (Shape::line(16, 256), Parameters::default().slice(n.into(), 1).slice(256, 4))
    }),
    ("safe_points_to_arrays", 1 << 14, |n| {
        let len = u64::from(n);
        let points = Parameters::default().slice(3 * len, 4);
        (Shape::line(n.div_ceil(256), 256), points.slice(len, 4).slice(len, 4).slice(len, 4))
    }),
];

/// What is counted on hardware: kernels without `unsafe` and the twins beside them, at the cost table's extents, each once.
pub fn counted() -> Vec<(&'static str, (Shape, Vec<Parameter>))> {
    let of_pairs = PAIRS.iter().enumerate().flat_map(|(i, pair)| {
        let is_new = PAIRS[..i].iter().all(|earlier| earlier.safe != pair.safe);
        let both = [Some(pair.safe).filter(|_| is_new), Some(pair.raw).filter(|raw| raw.starts_with("raw_"))];
        both.into_iter().flatten().map(|kernel| (kernel, pair.launch(kernel, pair.counted[0])))
    });
    let alone = ALONE.iter().map(|(kernel, extent, make)| {
        let (shape, parameters) = make(*extent);
        (*kernel, (shape, parameters.0))
    });
    of_pairs.chain(alone).collect()
}

/// Parameters in the PTX's order.
#[derive(Default)]
pub struct Parameters(Vec<Parameter>);

impl Parameters {
    pub fn number(self, value: u32) -> Self {
        self.numbers(&[value])
    }
    pub fn numbers(mut self, values: &[u32]) -> Self {
        self.0.push(Parameter::Value(values.iter().flat_map(|value| value.to_le_bytes()).collect()));
        self
    }
    pub fn long(mut self, value: u64) -> Self {
        self.0.push(Parameter::Value(value.to_le_bytes().to_vec()));
        self
    }
    pub fn memory(mut self, bytes: u64) -> Self {
        self.0.push(Parameter::Memory(bytes));
        self
    }
    pub fn holding(mut self, content: Vec<u8>) -> Self {
        self.0.push(Parameter::Holding(content));
        self
    }
    pub fn made(self) -> Vec<Parameter> {
        self.0
    }
    pub fn slice(self, len: u64, size: u64) -> Self {
        self.memory(len * size).long(len)
    }
    /// Of an output the twin is given a pointer alone.
    pub fn output(self, len: u64, size: u64, safe: bool) -> Self {
        let memory = self.memory(len * size);
        if safe { memory.long(len) } else { memory }
    }
    pub fn matrix(self, n: u32) -> Self {
        self.slice(square(n), 4).numbers(&[n, n])
    }
    pub fn output_matrix(self, n: u32) -> Self {
        self.memory(4 * square(n)).numbers(&[n, n])
    }
    fn gemm(self, n: u32) -> Self {
        self.numbers(&[n, n, n, 1.0f32.to_bits(), 0])
    }
}

fn square(n: u32) -> u64 {
    u64::from(n) * u64::from(n)
}

fn vecadd(n: u32, safe: bool) -> (Shape, Parameters) {
    let len = u64::from(n);
    let all = Parameters::default().slice(len, 4).slice(len, 4).output(len, 4, safe);
    (Shape::line(n.div_ceil(256), 256), all)
}

fn product(n: u32, safe: bool, block: (u32, u32), tile: u32) -> (Shape, Parameters) {
    let none = Parameters::default();
    let all = if safe {
        none.matrix(n).matrix(n).output_matrix(n)
    } else {
        none.gemm(n).slice(square(n), 4).slice(square(n), 4).memory(4 * square(n))
    };
    (Shape::new((n.div_ceil(tile), n.div_ceil(tile)), block), all)
}

/// In tiles of 16 × 16, which the twin's are whose blocks are.
fn dynamic(n: u32, safe: bool) -> (Shape, Parameters) {
    let none = Parameters::default();
    let all = if safe {
        none.number(16).matrix(n).matrix(n).output_matrix(n)
    } else {
        none.gemm(n).number(16).slice(square(n), 4).slice(square(n), 4).memory(4 * square(n))
    };
    (Shape { shared: 2 * 16 * 16 * 4, ..Shape::new((n / 16, n / 16), (16, 16)) }, all)
}

fn registers(n: u32, safe: bool) -> (Shape, Parameters) {
    if safe {
        return product(n, true, (16, 16), 128);
    }
    let bytes = 4 * square(n);
    let all = Parameters::default().gemm(n).memory(bytes).memory(bytes).memory(bytes);
    (Shape::new((n / 128, n / 128), (256, 1)), all)
}

fn guarded_registers(n: u32, safe: bool) -> (Shape, Parameters) {
    if safe {
        return product(n, true, (16, 16), 128);
    }
    let bytes = 4 * square(n);
    let all = Parameters::default().number(n).number(n).number(n).memory(bytes).memory(bytes).memory(bytes);
    (Shape::new((n.div_ceil(128), n.div_ceil(128)), (256, 1)), all)
}

fn transpose(n: u32, safe: bool) -> (Shape, Parameters) {
    let none = Parameters::default();
    let all = if safe {
        none.matrix(n).output_matrix(n)
    } else {
        none.number(n).number(n).slice(square(n), 4).memory(4 * square(n))
    };
    (Shape::new((n.div_ceil(32), n.div_ceil(32)), (32, 8)), all)
}

fn copy(n: u32, safe: bool, parameter: Option<u32>, size: u64) -> (Shape, Parameters) {
    let (none, len) = (Parameters::default(), u64::from(n));
    let first = if safe { none } else { none.number(n) };
    let second = if let Some(parameter) = parameter { first.number(parameter) } else { first };
    let read = second.slice(len + if parameter == Some(5) { 5 } else { 0 }, size);
    (Shape::line(n.div_ceil(256), 256), read.output(len, size, safe))
}

/// Blocks that go over a line in strides of the grid: 8 for each multiprocessor at most.
fn strided(n: u32) -> u32 {
    (n / 4096).min(8 * 132)
}

fn sums(n: u32, safe: bool) -> (Shape, Parameters) {
    let blocks = strided(n);
    let all = Parameters::default().slice(n.into(), 4).output(blocks.into(), 4, safe);
    (Shape::line(blocks, 256), all)
}

fn scan(n: u32, safe: bool) -> (Shape, Parameters) {
    let (len, parts) = (u64::from(n), n.div_ceil(256));
    let sums = Parameters::default().slice(len, 4).output(len, 4, safe).output(len, 4, safe);
    (Shape::line(parts, 256), sums.output(parts.into(), 4, safe))
}

fn histogram(n: u32, safe: bool) -> (Shape, Parameters) {
    let all = Parameters::default().slice(n.into(), 1).output(256, 4, safe);
    (Shape::line(strided(n), 256), all)
}

fn softmax(n: u32, safe: bool) -> (Shape, Parameters) {
    let none = Parameters::default();
    let all = if safe {
        none.matrix(n).output_matrix(n)
    } else {
        none.memory(4 * square(n)).number(n).memory(4 * square(n))
    };
    (Shape::line(n, 128), all)
}

fn sort(n: u32, safe: bool) -> (Shape, Parameters) {
    let all = Parameters::default().slice(n.into(), 4).output(n.into(), 4, safe);
    (Shape::line(n.div_ceil(512), 256), all)
}
