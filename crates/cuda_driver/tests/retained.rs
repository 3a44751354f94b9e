//! A primary context that is retained while the one before it is destroyed.

use std::error::Error;
use std::mem::ManuallyDrop;
use std::sync::mpsc;
use std::time::Duration;

use cust::stream::{Stream, StreamFlags};
use warpsmith_cuda::{DevicePreference, choose};

/// Both have the same handle, and what a context owns goes by that.
#[test]
fn the_next_primary_context_survives_the_end_of_the_last() -> Result<(), Box<dyn Error>> {
    choose(Some(DevicePreference::Virtual), Some("h200"))?;
    let first = cust::quick_init()?;
    // Goes with its context.
    let stream = ManuallyDrop::new(Stream::new(StreamFlags::NON_BLOCKING, None)?);
    let (began, has_begun) = mpsc::channel();
    let (ended, has_ended) = mpsc::channel();
    stream.add_callback(Box::new(move || {
        began.send(()).unwrap();
        std::thread::sleep(Duration::from_millis(200));
    }))?;
    let next = std::thread::spawn(move || {
        has_begun.recv().unwrap();
        // The last release waits for the stream's work now.
        std::thread::sleep(Duration::from_millis(50));
        let _second = cust::quick_init().unwrap();
        let stream = Stream::new(StreamFlags::NON_BLOCKING, None).unwrap();
        has_ended.recv().unwrap();
        stream.synchronize().unwrap();
    });
    drop(first);
    ended.send(())?;
    next.join().map_err(|_| "the next context's thread panicked")?;
    Ok(())
}
