//! The real `cust` on the virtual device, linked to this crate's symbols.

use std::error::Error;

use cust::context::{Context, ContextFlags, CurrentContext};
use cust::device::{Device, DeviceAttribute};
use cust::event::{Event, EventFlags};
use cust::memory::mem_get_info;
use cust::stream::{Stream, StreamFlags, StreamWaitEventFlags};
use warpsmith_cuda::{Wish, choose};

type Outcome = Result<(), Box<dyn Error>>;

fn context() -> Result<Context, Box<dyn Error>> {
    choose(Some(Wish::Virtual), Some("h200"))?;
    Ok(cust::quick_init()?)
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
    assert_eq!(cust::CudaApiVersion::get()?.major(), 12);
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
