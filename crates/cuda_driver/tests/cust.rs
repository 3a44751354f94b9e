//! The real `cust` on the virtual device, linked to this crate's symbols.
#![cfg(feature = "foreign")]

use std::error::Error;

use cust::context::{CacheConfig, Context, ContextFlags, CurrentContext};
use cust::device::{Device, DeviceAttribute};
use cust::event::{Event, EventFlags};
use cust::function::FunctionAttribute;
use cust::launch;
use cust::memory::array::{ArrayFormat, ArrayObject};
use cust::memory::{CopyDestination, DeviceBuffer, LockedBuffer, UnifiedBuffer, mem_get_info};
use cust::module::Module;
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use warpsmith_cuda::{DevicePreference, choose};

type Outcome = Result<(), Box<dyn Error>>;

/// `y[i] = a * x[i] + y[i]`, with a variable in constant and one in global memory.
const SAXPY: &str = r#"
.version 7.0
.target sm_75
.address_size 64

.visible .const .align 4 .f32 offset = 0f3F800000;
.visible .global .align 4 .u32 calls;

.visible .entry saxpy(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<6>;
    .reg .b64 %rd<6>;
    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [a];
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    ld.global.f32 %f3, [%rd5];
    fma.rn.f32 %f4, %f1, %f2, %f3;
    ld.const.f32 %f5, [offset];
    add.rn.f32 %f4, %f4, %f5;
    st.global.f32 [%rd5], %f4;
    atom.global.add.u32 %r5, [calls], 1;
DONE:
    ret;
}
"#;

fn context() -> Result<Context, Box<dyn Error>> {
    choose(Some(DevicePreference::Virtual), Some("h200"))?;
    Ok(cust::quick_init()?)
}

#[test]
fn runs_a_kernel() -> Outcome {
    let _context = context()?;
    let module = Module::from_ptx(SAXPY, &[])?;
    let function = module.get_function("saxpy")?;
    let stream = Stream::new(StreamFlags::NON_BLOCKING, None)?;
    let x: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    let device_x = DeviceBuffer::from_slice(&x)?;
    let device_y = DeviceBuffer::from_slice(&vec![0.5f32; 1000])?;
    // SAFETY: the arguments are those of the kernel, the buffers hold `n` elements.
    unsafe {
        launch!(function<<<8, 128, 0, stream>>>(
            1000u32, 2.0f32, device_x.as_device_ptr(), device_y.as_device_ptr()
        ))?;
    }
    stream.synchronize()?;
    let y = device_y.as_host_vec()?;
    assert!((0..1000).all(|i| y[i] == 2.0 * i as f32 + 1.5), "{:?}", &y[..4]);
    let calls = module.get_global::<u32>(c"calls")?;
    let mut count = 0;
    calls.copy_to(&mut count)?;
    assert_eq!(count, 1000);
    Ok(())
}

#[test]
fn tells_of_the_device() -> Outcome {
    let _context = context()?;
    let device = Device::get_device(0)?;
    assert_eq!(Device::num_devices()?, 1);
    assert!(device.name()?.contains("H200"));
    assert_eq!(device.get_attribute(DeviceAttribute::MultiprocessorCount)?, 132);
    assert_eq!(device.get_attribute(DeviceAttribute::ComputeCapabilityMajor)?, 9);
    assert!(device.total_memory()? > 100 << 30);
    let (free, total) = mem_get_info()?;
    assert!(free <= total);
    assert_eq!(CurrentContext::get_device()?, device);
    assert_eq!(cust::CudaApiVersion::get()?.major(), 13);
    Ok(())
}

#[test]
fn contexts_are_made_and_dropped() -> Outcome {
    let _context = context()?;
    let device = Device::get_device(0)?;
    let second = Context::new(device)?;
    second.set_flags(ContextFlags::SCHED_AUTO)?;
    drop(second);
    Ok(())
}

#[test]
fn refused_modules_and_names_are_errors() -> Outcome {
    let _context = context()?;
    let error = Module::from_ptx("this is no PTX", &[]).err();
    assert_eq!(error, Some(cust::error::CudaError::InvalidPtx));
    let module = Module::from_ptx(SAXPY, &[])?;
    assert_eq!(module.get_function("saxpz").err(), Some(cust::error::CudaError::NotFound));
    assert!(module.get_global::<u32>(c"nothing").is_err());
    Ok(())
}

#[test]
fn function_attributes_and_occupancy() -> Outcome {
    let _context = context()?;
    let module = Module::from_ptx(SAXPY, &[])?;
    let mut function = module.get_function("saxpy")?;
    assert_eq!(function.get_attribute(FunctionAttribute::MaxThreadsPerBlock)?, 1024);
    assert_eq!(function.get_attribute(FunctionAttribute::PtxVersion)?, 75);
    assert_eq!(function.get_attribute(FunctionAttribute::SharedMemorySizeBytes)?, 0);
    // Warps are what runs out: 64 of them, eight a block.
    assert_eq!(function.max_active_blocks_per_multiprocessor(256.into(), 0)?, 8);
    let (grid, block) = function.suggested_launch_configuration(0, 0.into())?;
    assert!((32..=1024).contains(&block) && grid >= 132, "{grid} {block}");
    // As an H200 answers: most blocks by default, and with L1 preferred what the smallest step holds of 2 KiB and the system's.
    assert_eq!(function.max_active_blocks_per_multiprocessor(32.into(), 2048)?, 32);
    function.set_cache_config(CacheConfig::PreferL1)?;
    assert_eq!(function.max_active_blocks_per_multiprocessor(32.into(), 2048)?, 2);
    assert_eq!(function.max_active_blocks_per_multiprocessor(32.into(), 40 << 10)?, 1);
    Ok(())
}

#[test]
fn memory_of_every_kind() -> Outcome {
    let _context = context()?;
    let locked = LockedBuffer::new(&7u8, 100)?;
    let mut device = DeviceBuffer::<u8>::zeroed(100)?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let mut back = LockedBuffer::new(&0u8, 100)?;
    // SAFETY: the buffers live until the stream is synchronised.
    unsafe {
        use cust::memory::AsyncCopyDestination;
        device.async_copy_from(&locked, &stream)?;
        device.async_copy_to(&mut back, &stream)?;
    }
    stream.synchronize()?;
    assert!(back.iter().all(|&byte| byte == 7));
    let mut unified = UnifiedBuffer::new(&1u32, 10)?;
    unified[3] = 5;
    assert_eq!(unified.iter().sum::<u32>(), 14);
    // SAFETY: asynchronous memory is freed in the stream that it was allocated in.
    unsafe {
        let pooled = DeviceBuffer::<f32>::uninitialized_async(64, &stream)?;
        pooled.drop_async(&stream)?;
    }
    stream.synchronize()?;
    Ok(())
}

#[test]
fn events_order_streams() -> Outcome {
    let _context = context()?;
    let (first, second) =
        (Stream::new(StreamFlags::NON_BLOCKING, None)?, Stream::new(StreamFlags::NON_BLOCKING, None)?);
    let (start, end) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);
    let order = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let (one, two) = (order.clone(), order.clone());
    start.record(&first)?;
    first.add_callback(Box::new(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        one.lock().unwrap().push(1);
    }))?;
    end.record(&first)?;
    second.wait_event(end, StreamWaitEventFlags::DEFAULT)?;
    second.add_callback(Box::new(move || two.lock().unwrap().push(2)))?;
    second.synchronize()?;
    assert_eq!(*order.lock().unwrap(), [1, 2]);
    Ok(())
}

#[test]
fn arrays_hold_what_is_copied_in() -> Outcome {
    let _context = context()?;
    let values: Vec<u32> = (0..7 * 5).map(|i| i * 3).collect();
    // Not F32: cust 0.3.2 asks for halves then.
    let mut array = ArrayObject::new_2d([7, 5], ArrayFormat::U32, 1)?;
    array.copy_from(&values)?;
    let mut back = vec![0u32; values.len()];
    array.copy_to(&mut back)?;
    assert_eq!(back, values);
    let descriptor = array.descriptor()?;
    assert_eq!((descriptor.width(), descriptor.height(), descriptor.depth()), (7, 5, 0));
    Ok(())
}
