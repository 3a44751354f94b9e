//! What blocks do together, in blocks of every shape: tiles loaded from anywhere around a matrix, values reduced and scanned;
//! and what a whole grid waits for.

use blocks::tiles::{COLS, ROWS};
use cust::launch;
use cust::memory::DeviceBuffer;
use cust::module::Module;
use host::data::Random;
use warpsmith_launch::Device;

use crate::{Case, Needs};

static PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/blocks.ptx"));

/// Threads along x, y and z: less than a warp, no multiple of one, more than the tile has elements.
const BLOCKS: [(u32, u32, u32); 7] =
    [(1, 1, 1), (31, 1, 1), (32, 8, 1), (5, 3, 2), (256, 1, 1), (33, 9, 2), (1024, 1, 1)];

/// The cases.
pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new("tiles::a_block_reduces", reductions),
        Case::new("tiles::warps_and_blocks_scan_in_order", scans),
        Case::new("tiles::warps_and_blocks_reduce_floats", floats),
        Case::new("tiles::a_grid_waits_for_itself", turns),
    ];
    for kernel in ["window_plain", "window_padded", "window_swizzled"] {
        cases.push(Case::new(format!("tiles::{kernel}"), move |device| windows(device, kernel)));
    }
    // The module is made for Hopper: other parts of it need that.
    cases.into_iter().map(|case| case.needs(Needs::Exactly((9, 0)))).collect()
}

fn module() -> anyhow::Result<Module> {
    Ok(Module::from_ptx(PTX, &[])?)
}

fn windows(device: &Device, kernel: &str) -> anyhow::Result<()> {
    let (module, stream) = (module()?, device.stream());
    let function = module.get_function(kernel)?;
    for (rows, cols) in [(1usize, 1usize), (31, 33), (12, 32), (40, 7), (0, 5)] {
        let numbers = Random::new((rows * 100 + cols) as u64).units(rows * cols);
        let from = DeviceBuffer::from_slice(&[&numbers[..], &[7.0]].concat())?;
        for (row, col) in
            [(0i32, 0i32), (-1, -1), (-12, 3), (5, -40), (rows as i32 - 1, cols as i32 - 1), (100, 0)]
        {
            for block in BLOCKS {
                let to = DeviceBuffer::from_slice(&[f32::NAN; ROWS * COLS])?;
                // SAFETY: the kernel's own arguments; `from` has rows × cols elements and `to` a tile's.
                unsafe {
                    launch!(function<<<1, block, 0, stream>>>(
                        rows as u32, cols as u32, row, col, from.as_device_ptr(), numbers.len(), to.as_device_ptr()
                    ))?;
                }
                device.synchronize()?;
                for (i, got) in to.as_host_vec()?.into_iter().enumerate() {
                    let (r, c) = (i64::from(row) + (i / COLS) as i64, i64::from(col) + (i % COLS) as i64);
                    let inside = (0..rows as i64).contains(&r) && (0..cols as i64).contains(&c);
                    let expected = if inside { numbers[r as usize * cols + c as usize] } else { -1.0 };
                    anyhow::ensure!(
                        got == expected,
                        "{kernel}, block {block:?}: ({r}, {c}) of {rows} × {cols} is {got}, should be {expected}"
                    );
                }
            }
        }
    }
    Ok(())
}

fn reductions(device: &Device) -> anyhow::Result<()> {
    let (module, stream) = (module()?, device.stream());
    let function = module.get_function("block_sums")?;
    for block in BLOCKS {
        let (threads, grid) = ((block.0 * block.1 * block.2) as usize, 3u32);
        let mut random = Random::new(threads as u64);
        let numbers: Vec<u32> = (0..3 * threads).map(|_| random.bits() as u32 >> 12).collect();
        let from = DeviceBuffer::from_slice(&numbers)?;
        let to = DeviceBuffer::from_slice(&vec![0u32; 2 * numbers.len()])?;
        // SAFETY: a number for each thread, room for two of each.
        unsafe {
            launch!(function<<<grid, block, 0, stream>>>(from.as_device_ptr(), numbers.len(), to.as_device_ptr()))?;
        }
        device.synchronize()?;
        for (i, got) in to.as_host_vec()?.chunks_exact(2).enumerate() {
            let own = &numbers[i / threads * threads..][..threads];
            let expected = [own.iter().sum::<u32>(), own.iter().copied().max().unwrap_or(0)];
            anyhow::ensure!(got == expected, "block {block:?}, thread {i}: {got:?}, should be {expected:?}");
        }
    }
    Ok(())
}

/// As the kernel's, which is not commutative.
fn then(first: u64, second: u64) -> u64 {
    let ([slope, offset], [slope_2, offset_2]) = ([first, first >> 32], [second, second >> 32]);
    let wrapped = |number: u64| number & u64::from(u32::MAX);
    let offset = wrapped(wrapped(slope_2) * wrapped(offset)) + wrapped(offset_2);
    wrapped(offset) << 32 | wrapped(wrapped(slope) * wrapped(slope_2))
}

/// What each of a group's threads should get: of those before it, with it, and of all.
fn scanned(group: &[u64]) -> Vec<[u64; 3]> {
    let total = group.iter().copied().fold(1, then);
    let mut before = 1;
    let each = group.iter().map(|&own| {
        let exclusive = before;
        before = then(before, own);
        [exclusive, before, total]
    });
    each.collect()
}

fn scans(device: &Device) -> anyhow::Result<()> {
    let (module, stream) = (module()?, device.stream());
    let function = module.get_function("steps_scanned")?;
    for block in BLOCKS {
        let (threads, grid) = ((block.0 * block.1 * block.2) as usize, 2u32);
        let mut random = Random::new(threads as u64);
        let steps: Vec<u64> = (0..2 * threads).map(|_| random.bits()).collect();
        let from = DeviceBuffer::from_slice(&steps)?;
        let to = DeviceBuffer::from_slice(&vec![0u64; 6 * steps.len()])?;
        // SAFETY: a step for each thread, room for six of each.
        unsafe {
            launch!(function<<<grid, block, 0, stream>>>(from.as_device_ptr(), steps.len(), to.as_device_ptr()))?;
        }
        device.synchronize()?;
        let blocks = steps.chunks(threads);
        let of_warps = blocks.clone().flat_map(|block| block.chunks(32)).flat_map(scanned);
        let expected: Vec<_> = of_warps.zip(blocks.flat_map(scanned)).collect();
        let got = to.as_host_vec()?;
        for (i, (got, (warp, block_of))) in got.chunks_exact(6).zip(expected).enumerate() {
            let should = [warp, block_of].concat();
            anyhow::ensure!(got == should, "block {block:?}, thread {i}: {got:?}, should be {should:?}");
        }
    }
    Ok(())
}

fn floats(device: &Device) -> anyhow::Result<()> {
    let (module, stream) = (module()?, device.stream());
    let function = module.get_function("floats_reduced")?;
    for block in BLOCKS {
        let (threads, grid) = ((block.0 * block.1 * block.2) as usize, 2u32);
        let mut random = Random::new(threads as u64);
        // Whole numbers, whose sums are exact in any order.
        let numbers: Vec<f32> = (0..2 * threads).map(|_| (random.bits() % 1000) as f32 - 500.0).collect();
        let from = DeviceBuffer::from_slice(&numbers)?;
        let to = DeviceBuffer::from_slice(&vec![f32::NAN; 2 * numbers.len()])?;
        // SAFETY: a number for each thread, room for two of each.
        unsafe {
            launch!(function<<<grid, block, 0, stream>>>(from.as_device_ptr(), numbers.len(), to.as_device_ptr()))?;
        }
        device.synchronize()?;
        for (i, got) in to.as_host_vec()?.chunks_exact(2).enumerate() {
            let own = &numbers[i / threads * threads..][..threads];
            let warp = own.chunks(32).nth(i % threads / 32).unwrap_or_default();
            let expected = [warp.iter().copied().fold(f32::NEG_INFINITY, f32::max), own.iter().sum()];
            anyhow::ensure!(got == expected, "block {block:?}, thread {i}: {got:?}, should be {expected:?}");
        }
    }
    Ok(())
}

fn turns(device: &Device) -> anyhow::Result<()> {
    let (module, stream) = (module()?, device.stream());
    let function = module.get_function("turned")?;
    for (blocks, threads) in [(1u32, 32u32), (3, 33), (8, 256)] {
        let all = (blocks * threads) as usize;
        let numbers: Vec<u32> = (0..all as u32).collect();
        let x = DeviceBuffer::from_slice(&numbers)?;
        let counter = DeviceBuffer::from_slice(&[0u32])?;
        let (mut first, mut second) = (x.as_device_ptr(), counter.as_device_ptr());
        let mut arguments = [(&raw mut first).cast(), (&raw mut second).cast()];
        // SAFETY: the kernel's own arguments, as cooperative as it asks for; few enough blocks run together on any device.
        let answer = unsafe {
            cust::sys::cuLaunchCooperativeKernel(
                function.to_raw(),
                blocks,
                1,
                1,
                threads,
                1,
                1,
                0,
                stream.as_inner(),
                arguments.as_mut_ptr(),
            )
        };
        anyhow::ensure!(answer == cust::sys::cudaError_enum::CUDA_SUCCESS, "launched: {answer:?}");
        device.synchronize()?;
        for (i, got) in x.as_host_vec()?.into_iter().enumerate() {
            let expected = numbers[(i + 3) % all];
            anyhow::ensure!(got == expected, "{blocks} × {threads}: {i} is {got}, should be {expected}");
        }
    }
    Ok(())
}
