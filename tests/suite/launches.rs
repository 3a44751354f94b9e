//! What a typed launch refuses before it reaches the device, and what it admits.

use blockwise_kernels::generic::{Add, Larger};
use blockwise_kernels::raw::raw_folded;
use cust::function::FunctionAttribute;
use cust::launch;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::{ModuleJitOption, OptLevel};
use host::demos::matmul::{Variant, multiply};
use host::modules::LEVELS;
use kernels_gpu::base::coalescing::copy_4_bytes;
use kernels_gpu::base::matmul::tiled::matmul_tiled_16;
use kernels_gpu::gemm::Gemm;
use warpsmith_kernels::structs::{to_arrays, to_arrays_async};
use warpsmith_launch::Kernel;
use warpsmith_launch::extra::{Extended, load_ptx, prefer_shared_carveout};
use warpsmith_launch::{Device, Shape};

use crate::Case;
use crate::blockwise::levels;

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new("launch::a_block_of_another_shape_is_refused", |device| {
            let buffer = DeviceBuffer::from_slice(&[0.0f32; 256])?;
            let mut c = DeviceBuffer::from_slice(&[0.0f32; 256])?;
            let shape = Shape { grid: [1, 1, 1], block: [32, 8, 1], shared: 0 };
            let p = Gemm::product(16, 16, 16);
            // SAFETY: refused before it starts; the buffers are large enough anyway.
            let refused = unsafe {
                device.kernel::<matmul_tiled_16>(&LEVELS)?.launch(shape, (p, &buffer, &buffer, &mut c))
            };
            says(refused, &["matmul_tiled_16", "[32, 8, 1]", "[16, 16, 1]"])
        }),
        Case::new("launch::calls_of_the_library_are_captured", calls_are_captured),
        Case::new("launch::too_many_threads_are_refused", |device| {
            let from = DeviceBuffer::from_slice(&[0.0f32; 32])?;
            let mut to = DeviceBuffer::from_slice(&[0.0f32; 32])?;
            let shape = Shape { grid: [1, 1, 1], block: [1025, 1, 1], shared: 0 };
            // SAFETY: refused before it starts.
            let refused =
                unsafe { device.kernel::<copy_4_bytes>(&LEVELS)?.launch(shape, (32u32, &from, &mut to)) };
            says(refused, &["copy_4_bytes", "1025", "1024"])
        }),
        Case::new("launch::each_instance_of_a_generic_kernel_is_launched", |device| {
            each_instance(device)?;
            let (from, to) =
                (DeviceBuffer::from_slice(&[0.0f32; 32])?, DeviceBuffer::from_slice(&[0.0f32; 32])?);
            let kernel = device.kernel::<raw_folded<f32, Add, 1>>(levels())?;
            // SAFETY: refused before it starts.
            let refused = unsafe { kernel.launch(Shape::line(64, 64), (&from, 0.0f32, to.as_device_ptr())) };
            says(refused, &["`raw_folded::<f32, Add, 1>`", "64 threads", "32"])
        }),
        Case::new("launch::more_shared_memory_than_the_device_has_is_refused", |device| {
            let from = DeviceBuffer::from_slice(&[0.0f32; 32])?;
            let mut to = DeviceBuffer::from_slice(&[0.0f32; 32])?;
            let limit = device.limits().shared_per_block_optin;
            let shape = Shape { grid: [1, 1, 1], block: [32, 1, 1], shared: limit + 1 };
            // SAFETY: refused before it starts.
            let refused =
                unsafe { device.kernel::<copy_4_bytes>(&LEVELS)?.launch(shape, (32u32, &from, &mut to)) };
            says(refused, &[&(limit + 1).to_string(), &limit.to_string()])
        }),
        Case::new("launch::all_the_shared_memory_of_the_device_is_admitted", |device| {
            let from = DeviceBuffer::from_slice(&[1.5f32; 32])?;
            let mut to = DeviceBuffer::from_slice(&[0.0f32; 32])?;
            let shape =
                Shape { grid: [1, 1, 1], block: [32, 1, 1], shared: device.limits().shared_per_block_optin };
            // SAFETY: 32 elements each.
            unsafe { device.kernel::<copy_4_bytes>(&LEVELS)?.launch(shape, (32u32, &from, &mut to))? };
            device.synchronize()?;
            anyhow::ensure!(to.as_host_vec()? == [1.5; 32]);
            Ok(())
        }),
        Case::new("launch::blocks_that_wait_for_each_other_must_all_fit", |device| {
            let from = DeviceBuffer::from_slice(&[2.5f32; 1024])?;
            let mut to = DeviceBuffer::from_slice(&[0.0f32; 1024])?;
            let kernel = device.kernel::<copy_4_bytes>(&LEVELS)?;
            let together = Extended { cooperative: true, ..Extended::default() };
            let mut launch = |blocks| {
                let shape = Shape { grid: [blocks, 1, 1], block: [256, 1, 1], shared: 0 };
                // SAFETY: 1024 elements each, and threads beyond them do nothing.
                unsafe { kernel.launch_extended(shape, together, (1024u32, &from, &mut to)) }
            };
            launch(4)?;
            device.synchronize()?;
            says(launch(10_000_000), &["copy_4_bytes", "10000000 blocks", "at once"])?;
            anyhow::ensure!(to.as_host_vec()? == [2.5; 1024]);
            Ok(())
        }),
        Case::new("launch::the_compiler_of_the_driver_takes_options", |device| {
            let options = [ModuleJitOption::MaxRegisters(32), ModuleJitOption::OptLevel(OptLevel::O1)];
            let ptx = host::modules::LEVELS.all()[0].ptx();
            let module = load_ptx(ptx, &options).map_err(|(error, log)| anyhow::anyhow!("{error}: {log}"))?;
            let registers =
                module.get_function("matmul_tiled_32")?.get_attribute(FunctionAttribute::NumRegisters)?;
            // The virtual GPU has no register file to limit, and takes the option as it is.
            anyhow::ensure!(device.is_virtual() || registers <= 32, "{registers} registers");
            Ok(())
        }),
        Case::new("launch::a_module_that_does_not_load_says_which_line_is_wrong", |_| {
            let ptx = ".version 7.8\n.target sm_75\n.address_size 64\n.visible .entry wrong() {\n    no.such.instruction;\n}\n";
            let Err((_, log)) = load_ptx(ptx, &[]) else { anyhow::bail!("it was loaded") };
            anyhow::ensure!(log.contains("line 5"), "the log names no line: {log}");
            Ok(())
        }),
        Case::new("launch::a_carve_out_is_kept_by_the_driver", |device| {
            let kernel = device.kernel::<matmul_tiled_16>(&LEVELS)?;
            for percent in [0, 50, 100] {
                prefer_shared_carveout(kernel.function(), percent)?;
            }
            // The tiles need more than no shared memory at all: the driver gives it, whatever is preferred.
            prefer_shared_carveout(kernel.function(), 0)?;
            anyhow::ensure!(prefer_shared_carveout(kernel.function(), 101).is_err(), "101 % was taken");
            crate::matmul::check(device, Variant::Tiled16, (40, 40, 40), 1.0, 0.0)
        }),
        Case::new("launch::matrices_larger_than_their_buffers_are_refused", |device| {
            let small = DeviceBuffer::from_slice(&[0.0f32; 16])?;
            let mut c = DeviceBuffer::from_slice(&[0.0f32; 16])?;
            let refused = multiply(device, Variant::Naive, Gemm::product(4, 4, 5), &small, &small, &mut c);
            says(refused, &["A is 4 × 5", "16 elements"])?;
            let huge = Gemm::product(u32::MAX, u32::MAX, u32::MAX);
            says(multiply(device, Variant::Naive, huge, &small, &small, &mut c), &["16 elements"])
        }),
        Case::new("launch::tiles_larger_than_a_block_are_refused", |device| {
            let small = DeviceBuffer::from_slice(&[0.0f32; 16])?;
            let mut c = DeviceBuffer::from_slice(&[0.0f32; 16])?;
            for edge in [0, 33, 65_536] {
                let refused =
                    multiply(device, Variant::Dynamic(edge), Gemm::product(4, 4, 4), &small, &small, &mut c);
                says(refused, &[&format!("edge {edge}"), "1024"])?;
            }
            Ok(())
        }),
    ]
}

/// Whether the error says all of this.
fn says(result: Result<(), impl std::fmt::Display>, parts: &[&str]) -> anyhow::Result<()> {
    let Err(error) = result else { anyhow::bail!("it was not refused") };
    let text = error.to_string();
    for part in parts {
        anyhow::ensure!(text.contains(part), "`{text}` does not say `{part}`");
    }
    Ok(())
}

/// The form that only puts work on the stream is captured; the one that waits is refused.
fn calls_are_captured(device: &Device) -> anyhow::Result<()> {
    let points: Vec<[f32; 3]> = (0..8).map(|i| [i as f32, 10.0 * i as f32, 100.0 * i as f32]).collect();
    let (from, mut to) = (device.upload(&points)?, device.zeroed::<f32>(24)?);
    let mut graph = device.capture((&from, &mut to), |_, (from, mut to)| {
        // A copy of another thread, on the default stream, does not end the capture.
        std::thread::scope(|threads| {
            let copy = || device.enter().is_ok() && DeviceBuffer::from_slice(&[1u8]).is_ok();
            assert!(threads.spawn(copy).join().is_ok_and(|copied| copied));
        });
        // SAFETY: each launch of the graph is lent both.
        let call = unsafe { to_arrays_async(device, 8, from.as_cust(), to.as_cust_mut()) };
        call.map_err(|error| panic!("{error}"))
    })?;
    anyhow::ensure!(device.download(&to)? == [0.0; 24], "it ran where it was captured");
    graph.launch((&from, &mut to))?;
    let expected: Vec<f32> = (0..24).map(|i| points[i % 8][i / 8]).collect();
    anyhow::ensure!(device.download(&to)? == expected);

    let waits = device.capture((&from, &mut to), |_, (from, to)| {
        let refused = to_arrays(device, 8, from, to).unwrap_err().to_string();
        assert!(
            refused.starts_with("cannot finish what was launched while this thread captures a graph"),
            "{refused}"
        );
        Ok(())
    });
    says(waits.map(drop), &["cannot finish what was launched", "only puts work on the stream"])
}

fn each_instance(device: &Device) -> anyhow::Result<()> {
    let module =
        load_ptx(levels().all()[0].ptx(), &[]).map_err(|(error, log)| anyhow::anyhow!("{error}: {log}"))?;
    macro_rules! folded {
        ($($ty:ty, $operation:ty, $warps:literal, $fold:expr;)*) => {$({
            type Of = raw_folded<$ty, $operation, $warps>;
            let x: Vec<$ty> = (0..500u16).map(|i| <$ty>::from(i * 7 % 101)).collect();
            let threads = 64 * $warps;
            let expected: Vec<$ty> =
                (0..threads).map(|i| x[i..].iter().copied().step_by(threads).fold(3 as $ty, $fold)).collect();
            let (from, mut to) = (DeviceBuffer::from_slice(&x)?, DeviceBuffer::from_slice(&vec![0 as $ty; threads])?);
            // SAFETY: `to` has an element for each thread.
            unsafe {
                let shape = Shape::line(threads, 32 * $warps);
                device.kernel::<Of>(levels())?.launch(shape, (&from, 3 as $ty, to.as_device_ptr()))?;
            }
            device.synchronize()?;
            anyhow::ensure!(to.as_host_vec()? == expected, Of::NAME);
            to.copy_from(&vec![0 as $ty; threads])?;
            let (function, stream) = (module.get_function(Of::NAME)?, device.stream());
            // SAFETY: as above.
            unsafe {
                launch!(function<<<2, 32 * $warps, 0, stream>>>(
                    from.as_device_ptr(), from.len(), 3 as $ty, to.as_device_ptr()
                ))?;
            }
            device.synchronize()?;
            anyhow::ensure!(to.as_host_vec()? == expected, "by its name, {}", Of::NAME);
        })*};
    }
    folded! {
        f32, Add, 1, |a, b| a + b;
        f32, Add, 2, |a, b| a + b;
        f32, Larger, 1, f32::max;
        f32, Larger, 2, f32::max;
        u32, Add, 1, |a, b| a + b;
        u32, Add, 2, |a, b| a + b;
        u32, Larger, 1, u32::max;
        u32, Larger, 2, u32::max;
    }
    Ok(())
}
