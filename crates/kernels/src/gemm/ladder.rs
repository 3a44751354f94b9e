//! The steps towards Hopper's product, by name: they take bf16 along k, and multiples of their tiles.

use cust::memory::DevicePointer;
use half::bf16;
use kernels_gpu::hopper::HopperGemm;
use kernels_gpu::hopper::ladder::{
    BLOCK_N, GROUP_M, hopper_one_group, hopper_persistent, hopper_registers, hopper_ring, shared_bytes,
};
use tile::hopper::PanelMap;
use warpsmith_launch::{Bf16, Shape};

use super::hopper::{not_hopper, panels};
use super::mma::{f32_only, misaligned};
use super::variant::{Automatic, Schedule, Variant};
use super::{Gemm, Input, Layout, Operands, Order, Output, Prepared, Problem};
use crate::Error;

/// A step's kernel and its launch, from the tiles of C down and across.
#[derive(Debug)]
struct LadderSchedule {
    name: &'static str,
    shape: Shape,
    prepare: for<'d> fn(&Gemm<'d>, &Problem, &Operands, Shape) -> Result<Prepared<'d>, Error>,
}

impl Schedule for LadderSchedule {
    fn kernel(&self) -> &'static str {
        self.name
    }

    fn prepare<'d>(
        &self,
        gemm: &Gemm<'d>,
        problem: &Problem,
        operands: &Operands,
    ) -> Result<Prepared<'d>, Error> {
        (self.prepare)(gemm, problem, operands, self.shape)
    }
}

macro_rules! step {
    ($name:literal, $about:literal, $kernel:ty, $rows:expr, $stages:literal, $threads:literal, $grid:expr) => {
        Variant {
            name: $name,
            about: $about,
            automatic: Automatic::Never,
            f32: false,
            schedule: |limits, problem, operands, request| {
                let refusal = not_hopper(limits)
                    .or_else(|| f32_only(request))
                    .or_else(|| whole_tiles(problem, $rows))
                    .or_else(|| misaligned(problem, operands));
                if let Some(reason) = refusal {
                    return Err(reason);
                }
                let (down, across) = (problem.m / $rows as usize, problem.n / BLOCK_N as usize);
                let grid: fn(u32, u32, u32) -> [u32; 3] = $grid;
                Ok(Box::new(LadderSchedule {
                    name: <$kernel as cuda_std::Kernel>::NAME,
                    shape: Shape {
                        grid: grid(down as u32, across as u32, limits.sms),
                        block: [$threads, 1, 1],
                        shared: shared_bytes($rows, $stages),
                    },
                    prepare: prepare::<$kernel>,
                }))
            },
        }
    };
}

/// The steps, in order.
pub(super) const VARIANTS: &[Variant] = &[
    step!(
        "hopper-one-group",
        "a warpgroup copies, waits, multiplies",
        hopper_one_group,
        GROUP_M,
        1,
        128,
        |down, across, _| [across, down, 1]
    ),
    step!(
        "hopper-ring",
        "copies run ahead of products",
        hopper_ring,
        2 * GROUP_M,
        4,
        384,
        |down, across, _| [down * across, 1, 1]
    ),
    step!(
        "hopper-registers",
        "and the copying warpgroup gives its registers away",
        hopper_registers,
        2 * GROUP_M,
        4,
        384,
        |down, across, _| [down * across, 1, 1]
    ),
    step!(
        "hopper-persistent",
        "and blocks go from tile to tile",
        hopper_persistent,
        2 * GROUP_M,
        4,
        384,
        |down, across, sms| [(down * across).min(sms), 1, 1]
    ),
];

fn whole_tiles(problem: &Problem, rows: u32) -> Option<String> {
    let Problem { m, n, k, ldc, .. } = *problem;
    let of = (rows as usize, BLOCK_N as usize, 64);
    if (problem.input, problem.output, problem.layout) != (Input::Bf16, Output::Bf16, Layout::Nt) {
        return Some("it takes bf16 along K, and stores bf16".to_owned());
    }
    if problem.beta != 0.0 || ldc != n {
        return Some("it does not read C, and stores it without gaps".to_owned());
    }
    let whole = k > 0 && m.is_multiple_of(of.0) && n.is_multiple_of(of.1) && k.is_multiple_of(of.2);
    (!whole).then(|| format!("it takes multiples of {} x {} x {}, not {m} x {n} x {k}", of.0, of.1, of.2))
}

fn prepare<'d, K>(
    gemm: &Gemm<'d>,
    problem: &Problem,
    operands: &Operands,
    shape: Shape,
) -> Result<Prepared<'d>, Error>
where
    K: cuda_std::Kernel<Signature = fn(HopperGemm, PanelMap<bf16>, PanelMap<bf16>, *mut bf16)> + 'static,
{
    let Problem { m, n, k, lda, ldb, alpha, beta, .. } = *problem;
    let a = panels::<bf16>("A", operands.a, Order::Rows, (m, k), lda)?;
    let b = panels::<bf16>("B", operands.b, Order::Rows, (n, k), ldb)?;
    let c = DevicePointer::<Bf16>::from_raw(operands.c);
    let (m, n, k) = (m as u32, n as u32, k as u32);
    let p = HopperGemm { m, n, k, alpha, beta, wide: 0, group: 16, short: 0 };
    // SAFETY: `Gemm::prepare`'s caller promises the matrices, which are whole tiles; the shape is the kernel's own.
    unsafe { Prepared::kernel::<K, _>(gemm.device, shape, (p, a, b, c)) }
}
