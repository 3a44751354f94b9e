//! The steps towards Hopper's product, by name: they take bf16 along k, and multiples of their tiles.

use cust::memory::DevicePointer;
use half::bf16;
use kernels_gpu::hopper::HopperGemm;
use kernels_gpu::hopper::ladder::{
    BLOCK_N, GROUP_M, hopper_one_group, hopper_persistent, hopper_registers, hopper_ring, shared_bytes,
};
use tile::hopper::PanelMap;
use warpsmith_launch::{Bf16, Device, Shape};

use super::hopper::{not_hopper, panels};
use super::plan::Tiles;
use super::portable::misaligned;
use super::{Automatic, Input, Layout, Operands, Order, Output, Prepared, Problem, Variant};
use crate::error::Error;
use crate::modules::LEVELS;

macro_rules! step {
    ($name:literal, $about:literal, $kernel:ty, $rows:expr, $stages:literal, $threads:literal, $grid:expr) => {
        Variant {
            name: $name,
            about: $about,
            automatic: Automatic::Never,
            refusal: |limits, problem, operands| {
                not_hopper(limits)
                    .or_else(|| whole_tiles(problem, $rows))
                    .or_else(|| misaligned(problem, operands))
            },
            plan: |_, _| None,
            prepare: |device, problem, operands| {
                let tiles = (problem.m / $rows as usize, problem.n / BLOCK_N as usize);
                let grid: fn(&Device, (u32, u32)) -> [u32; 3] = $grid;
                let shape = Shape {
                    grid: grid(device, (tiles.0 as u32, tiles.1 as u32)),
                    block: [$threads, 1, 1],
                    shared: shared_bytes($rows, $stages),
                };
                prepare::<$kernel>(device, problem, operands, shape)
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
        |_, (down, across)| [across, down, 1]
    ),
    step!("hopper-ring", "copies run ahead of products", hopper_ring, 2 * GROUP_M, 4, 384, |_,
                                                                                            (
        down,
        across,
    )| [
        down * across,
        1,
        1
    ]),
    step!(
        "hopper-registers",
        "and the copying warpgroup gives its registers away",
        hopper_registers,
        2 * GROUP_M,
        4,
        384,
        |_, (down, across)| [down * across, 1, 1]
    ),
    step!(
        "hopper-persistent",
        "and blocks go from tile to tile",
        hopper_persistent,
        2 * GROUP_M,
        4,
        384,
        |device, (down, across)| [(down * across).min(device.limits().sms), 1, 1]
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
    device: &'d Device,
    problem: &Problem,
    operands: &Operands,
    shape: Shape,
) -> Result<Prepared<'d>, Error>
where
    K: cuda_std::Kernel<Signature = fn(HopperGemm, PanelMap<bf16>, PanelMap<bf16>, *mut bf16)> + 'd,
{
    let Problem { m, n, k, lda, ldb, alpha, beta, .. } = *problem;
    let launcher = device.kernel::<K>(&LEVELS)?;
    let a = panels::<bf16>("A", operands.a, Order::Rows, (m, k), lda)?;
    let b = panels::<bf16>("B", operands.b, Order::Rows, (n, k), ldb)?;
    let c = DevicePointer::<Bf16>::from_raw(operands.c);
    let (m, n, k) = (m as u32, n as u32, k as u32);
    let p = HopperGemm { m, n, k, alpha, beta, wide: 0, group: 2 * Tiles::Pairs.group() };
    // SAFETY: `tensor::prepare`'s caller promises the matrices, which are whole tiles; the shape is the kernel's own.
    Ok(Prepared::new(K::NAME, move || unsafe { launcher.launch(shape, (p, a, b, c)) }))
}
