//! Fast kernels for buffers, on a real GPU or on the virtual one.
//!
//! - [`gemm`] multiplies matrices: f32 by the CUDA cores, f16, bf16, tf32 and s8 by the tensor cores; any layout, pitch, alpha
//!   and beta.
//! - [`transpose`](mod@transpose) transposes matrices of elements of 1 to 16 bytes.
//! - [`primitives`] reduces and scans buffers by sums, extremes and operations of one's own, and has histograms, selections and sorts.
//! - [`rows`] has softmax, layer norm and RMS norm of f32, f16 and bf16.
//! - [`structs`] turns arrays of structs into structures of arrays, and back.
//!
//! Each waits for its result; what only puts it on the device's stream is `unsafe`. Each looks at the problem and the device, takes the kernel that is estimated to be fastest, and says which and why. The
//! kernels are written in Rust, compiled when this crate is, and embedded as PTX; no toolkit is needed.
//!
//! ```
//! use warpsmith_kernels::gemm::{Gemm, Problem};
//! use warpsmith_launch::{Device, DevicePreference};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let device = Device::open(DevicePreference::Virtual)?; // or `DevicePreference::Auto`: a GPU where there is one
//! let a = device.upload(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?; // 2 × 3
//! let b = device.upload(&[1.0f32, 0.0, 0.0, 1.0, 1.0, 1.0])?; // 3 × 2
//! let mut c = device.upload(&[0.0f32; 4])?;
//! let plan = Gemm::new(&device).multiply(&Problem::f32((2, 2, 3)), &a, &b, &mut c)?;
//! assert_eq!(device.download(&c)?, [4.0, 5.0, 10.0, 11.0]);
//! println!("{}", plan.why());
//! # Ok(()) }
//! ```
#![warn(missing_docs)]

mod costs;
mod error;
pub mod gemm;
mod plan;
pub mod primitives;
pub mod rows;
pub mod structs;
pub mod transpose;

use std::sync::LazyLock;

pub use error::Error;
pub use plan::Plan;
use warpsmith_launch::{Device, Level, Levels};

/// The result of a launch, once the device has finished it.
fn finished<T>(device: &Device, launched: Result<T, Error>) -> Result<T, Error> {
    // A part of it may have been launched before another was refused.
    device.finish()?;
    launched
}

/// Embeds a file of the build script's.
macro_rules! made {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".lz4"))
    };
}

/// The kernels, one module for each feature level. All that any device can run are in the first; a higher one holds only what
/// its hardware adds.
pub static LEVELS: LazyLock<Levels> = LazyLock::new(|| {
    let packed: [&[u8]; 3] =
        [made!("kernels_compute_75.ptx"), made!("kernels_compute_80.ptx"), made!("kernels_compute_90a.ptx")];
    let levels = packed.map(|ptx| Level::new(unpacked(ptx).leak()));
    Levels::new(Vec::leak(levels.into()))
});

/// The text that the build script packed.
fn unpacked(packed: &[u8]) -> String {
    let text = lz4_flex::block::decompress_size_prepended(packed).ok();
    text.and_then(|text| String::from_utf8(text).ok()).expect("the build script packed a text")
}

/// The modules as LLVM code before it becomes PTX: text, packed by LZ4 with its length before it.
#[cfg(feature = "llvm")]
pub static LLVM: [&[u8]; 3] =
    [made!("kernels_compute_75.ll"), made!("kernels_compute_80.ll"), made!("kernels_compute_90a.ll")];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use warpsmith_launch::DevicePreference;

    use super::*;
    use crate::gemm::{Gemm, Problem};

    #[test]
    fn safe_functions_return_when_the_device_has_ended() {
        let device = Device::open(DevicePreference::Virtual).unwrap();
        let numbers = device.upload(&[1.0f32; 16]).unwrap();
        let structs = device.upload(&[[1.0f32; 4]; 4]).unwrap();
        let mut to = device.zeroed::<f32>(16).unwrap();
        let mut back = device.upload(&[[0.0f32; 4]; 4]).unwrap();
        let gemm = Gemm::new(&device);
        let primitives = primitives::Primitives::new(&device);
        let bytes = device.upload(b"histogram of all").unwrap();
        let calls: [&mut dyn FnMut() -> Result<(), Error>; 13] = [
            &mut || gemm.multiply(&Problem::f32((4, 4, 4)), &numbers, &numbers, &mut to).map(drop),
            &mut || transpose::transpose(&device, (4, 4), &numbers, &mut device.zeroed::<f32>(16)?).map(drop),
            &mut || structs::to_arrays(&device, 4, &structs, &mut device.zeroed::<f32>(16)?),
            &mut || structs::to_structs(&device, 4, &numbers, &mut back),
            &mut || primitives.reduce(primitives::Sum, &numbers, &mut device.zeroed::<f32>(1)?).map(drop),
            &mut || {
                let mut to = device.zeroed::<f32>(16)?;
                primitives.inclusive_scan(primitives::Sum, &numbers, &mut to).map(drop)
            },
            &mut || {
                let (mut to, mut count) = (device.zeroed::<f32>(16)?, device.zeroed(1)?);
                primitives.select(&bytes, &numbers, &mut to, &mut count).map(drop)
            },
            &mut || {
                let (mut to, mut count) = (device.zeroed::<f32>(16)?, device.zeroed(1)?);
                primitives.unique(&numbers, &mut to, &mut count).map(drop)
            },
            &mut || {
                let order = primitives::SortOrder::default();
                primitives.sort(&order, &numbers, &mut device.zeroed::<f32>(16)?).map(drop)
            },
            &mut || {
                let (order, mut to) = (primitives::SortOrder::default(), device.zeroed::<f32>(16)?);
                primitives
                    .sort_pairs(&order, &numbers, &numbers, &mut to, &mut device.zeroed::<f32>(16)?)
                    .map(drop)
            },
            &mut || primitives.histogram(0..256, &bytes, &mut device.zeroed(256)?).map(drop),
            &mut || rows::softmax(&device, (4, 4), &numbers, &mut device.zeroed::<f32>(16)?).map(drop),
            &mut || {
                let mut to = device.zeroed::<f32>(16)?;
                rows::Norm::rms(1.0).apply(&device, (4, 4), &numbers, &mut to).map(drop)
            },
        ];
        for (number, call) in calls.into_iter().enumerate() {
            // Before the kernel, so that it cannot have ended by chance.
            device.stream().on_host(|| std::thread::sleep(Duration::from_millis(100))).unwrap();
            call().unwrap();
            assert!(device.stream().is_done().unwrap(), "call {number}");
        }
    }
}
