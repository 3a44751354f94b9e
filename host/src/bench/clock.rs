//! The SM clock and the power draw, read through NVML when it is there.

use std::ffi::{c_int, c_uint, c_void};

use libloading::{Library, Symbol};
use serde::Serialize;

/// The card's present state.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Reading {
    pub sm_mhz: u32,
    /// Power in watts.
    pub watts: f64,
}

/// NVML, opened at run time.
pub struct Nvml {
    library: Library,
    device: *mut c_void,
}

const CLOCK_SM: c_int = 1;

impl Nvml {
    /// Opens NVML for the device at a PCI address such as `0000:3B:00.0`; `None` where there is none.
    pub fn open(pci_bus_id: &str) -> Option<Self> {
        let id = std::ffi::CString::new(pci_bus_id).ok()?;
        // SAFETY: the signatures are NVML's; the library is initialised before the device is asked for.
        unsafe {
            let library = Library::new("libnvidia-ml.so.1").ok()?;
            let init: Symbol<unsafe extern "C" fn() -> c_int> = library.get(b"nvmlInit_v2\0").ok()?;
            if init() != 0 {
                return None;
            }
            let mut device = std::ptr::null_mut();
            let by_id: Symbol<unsafe extern "C" fn(*const std::ffi::c_char, *mut *mut c_void) -> c_int> =
                library.get(b"nvmlDeviceGetHandleByPciBusId_v2\0").ok()?;
            if by_id(id.as_ptr(), &mut device) != 0 {
                return None;
            }
            Some(Self { library, device })
        }
    }

    /// The clock and the power of this moment.
    pub fn read(&self) -> Option<Reading> {
        let (mut mhz, mut milliwatts): (c_uint, c_uint) = (0, 0);
        // SAFETY: the signatures are NVML's, the device handle came from it.
        unsafe {
            let clock: Symbol<unsafe extern "C" fn(*mut c_void, c_int, *mut c_uint) -> c_int> =
                self.library.get(b"nvmlDeviceGetClockInfo\0").ok()?;
            let power: Symbol<unsafe extern "C" fn(*mut c_void, *mut c_uint) -> c_int> =
                self.library.get(b"nvmlDeviceGetPowerUsage\0").ok()?;
            (clock(self.device, CLOCK_SM, &mut mhz) == 0 && power(self.device, &mut milliwatts) == 0)
                .then_some(Reading { sm_mhz: mhz, watts: f64::from(milliwatts) / 1e3 })
        }
    }
}

/// The PCI address of a device, in the form that NVML takes.
pub fn pci_bus_id(device: cust::sys::CUdevice) -> Option<String> {
    let mut text = [0u8; 32];
    // SAFETY: the buffer has the length that is told.
    let code =
        unsafe { cust::sys::cuDeviceGetPCIBusId(text.as_mut_ptr().cast(), text.len() as c_int, device) };
    let end = text.iter().position(|&byte| byte == 0)?;
    (code == cust::sys::cudaError_enum::CUDA_SUCCESS)
        .then(|| String::from_utf8_lossy(&text[..end]).into_owned())
}
