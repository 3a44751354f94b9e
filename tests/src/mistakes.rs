//! Runs the mistakes of the classic tutorials, before and after: launches the kernel, compares with float64.

use anyhow::Context as _;
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use cust::stream::{Stream, StreamFlags};
use host::data::Random;
use host::verify::{Product, Verdict, exact};
use mistakes::EDGE;
use mistakes::too_little_memory::{BYTES_AFTER, BYTES_BEFORE};
use warpsmith_cuda as _;

static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/mistakes.ptx"));

/// A kernel's result.
#[derive(Clone, Copy, Debug)]
enum Task {
    /// The product of two n × n matrices.
    Multiply(usize),
    /// The transpose of a rows × cols matrix.
    Transpose(usize, usize),
}

/// A mistake: two kernels, and how they are launched.
#[derive(Clone, Copy, Debug)]
pub struct Mistake {
    /// Its name.
    pub name: &'static str,
    /// The kernel as it is often written, and its dynamic shared memory in bytes.
    before: (&'static str, u32),
    /// The kernel put right, and its dynamic shared memory in bytes.
    after: (&'static str, u32),
    task: Task,
}

const fn mistake(name: &'static str, before: &'static str, after: &'static str, task: Task) -> Mistake {
    Mistake { name, before: (before, 0), after: (after, 0), task }
}

/// All of them, in the order of `docs/mistakes.md`.
pub const ALL: [Mistake; 8] = [
    mistake("stored_transposed", "stored_transposed_before", "stored_transposed_after", Task::Multiply(32)),
    mistake("second_from_first", "second_from_first_before", "second_from_first_after", Task::Multiply(32)),
    mistake("reused_guard", "reused_guard_before", "reused_guard_after", Task::Transpose(24, 32)),
    mistake("dropped_tail", "dropped_tail_before", "dropped_tail_after", Task::Multiply(40)),
    mistake("barrier_before_use", "barrier_before_use_before", "missing_barrier_after", Task::Multiply(32)),
    mistake("barrier_after_use", "barrier_after_use_before", "missing_barrier_after", Task::Multiply(32)),
    Mistake {
        name: "two_arrays",
        before: ("two_arrays_before", BYTES_AFTER),
        after: ("two_arrays_after", BYTES_AFTER),
        task: Task::Multiply(32),
    },
    Mistake {
        name: "too_little_memory",
        before: ("too_little_memory", BYTES_BEFORE),
        after: ("too_little_memory", BYTES_AFTER),
        task: Task::Multiply(32),
    },
];

impl Mistake {
    /// Runs one of the two kernels and compares its result.
    pub fn run(&self, after: bool) -> anyhow::Result<Verdict> {
        let (kernel, shared) = if after { self.after } else { self.before };
        let _context = cust::quick_init()?;
        let module = Module::from_ptx(PTX, &[])?;
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
        let function = module.get_function(kernel)?;
        let blocks = |extent: usize| extent.div_ceil(EDGE) as u32;
        let edge = EDGE as u32;
        match self.task {
            Task::Multiply(n) => {
                let mut random = Random::new(7);
                let (a, b) = (random.units(n * n), random.units(n * n));
                let on_device = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
                let c = DeviceBuffer::from_slice(&vec![f32::NAN; n * n])?;
                // SAFETY: the arguments are the kernel's; all matrices have n × n elements.
                unsafe {
                    launch!(function<<<(blocks(n), blocks(n)), (edge, edge), shared, stream>>>(
                        n as u32,
                        on_device.0.as_device_ptr(), on_device.0.len(),
                        on_device.1.as_device_ptr(), on_device.1.len(),
                        c.as_device_ptr()
                    ))?;
                }
                stream.synchronize().with_context(|| format!("`{kernel}` fails"))?;
                let product = Product { shape: (n, n, n), a: &a, b: &b, before: &[], alpha: 1.0, beta: 0.0 };
                Ok(product.whole(&c.as_host_vec()?))
            }
            Task::Transpose(rows, cols) => {
                let numbers = Random::new(8).units(rows * cols);
                let from = DeviceBuffer::from_slice(&numbers)?;
                let to = DeviceBuffer::from_slice(&vec![0.0f32; rows * cols])?;
                // SAFETY: the arguments are the kernel's; both matrices have rows × cols elements.
                unsafe {
                    launch!(function<<<(blocks(cols), blocks(rows)), (edge, edge), shared, stream>>>(
                        rows as u32, cols as u32, from.as_device_ptr(), from.len(), to.as_device_ptr()
                    ))?;
                }
                stream.synchronize().with_context(|| format!("`{kernel}` fails"))?;
                let turned: Vec<f32> =
                    (0..rows * cols).map(|i| numbers[i % rows * cols + i / rows]).collect();
                Ok(exact(&to.as_host_vec()?, &turned))
            }
        }
    }
}
