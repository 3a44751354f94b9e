//! How devices are linked, as the driver tells it and NVML where it is there.

use std::ffi::{CString, c_char, c_int, c_uint, c_void};

use libloading::{Library, Symbol};
use serde::Serialize;

/// A pair of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Link {
    pub between: (u32, u32),
    /// Whether each reaches the other's memory without the host.
    pub peers: bool,
    /// Whether atomic operations reach it, too.
    pub atomics: bool,
    /// The link between them, where NVML tells it.
    pub by: Option<&'static str>,
}

impl Link {
    /// Its kind in words.
    pub fn words(&self) -> String {
        let by = self.by.unwrap_or("a link that nothing tells");
        match (self.peers, self.atomics) {
            (true, true) => format!("{by}; peers, with atomics"),
            (true, false) => format!("{by}; peers, without atomics"),
            (false, _) => format!("{by}; no peers: copies pass through the host"),
        }
    }
}

/// The links between all devices of this process.
pub fn all(is_virtual: bool) -> cust::error::CudaResult<Vec<Link>> {
    let devices = cust::device::Device::devices()?.collect::<Result<Vec<_>, _>>()?;
    let nvml = if is_virtual { None } else { Nvml::open() };
    let handles: Vec<Option<*mut c_void>> = devices
        .iter()
        .map(|device| nvml.as_ref()?.device(&crate::bench::pci_bus_id(device.as_raw())?))
        .collect();
    let mut links = Vec::new();
    for (one, first) in devices.iter().enumerate() {
        for (other, second) in devices.iter().enumerate().skip(one + 1) {
            let both = |which| {
                attribute(which, first.as_raw(), second.as_raw())
                    && attribute(which, second.as_raw(), first.as_raw())
            };
            let by = match (&nvml, handles[one], handles[other]) {
                _ if is_virtual => Some("virtual"),
                (Some(nvml), Some(one), Some(other)) => nvml.between(one, other),
                _ => None,
            };
            use cust::sys::CUdevice_P2PAttribute as A;
            links.push(Link {
                between: (one as u32, other as u32),
                peers: both(A::CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED),
                atomics: both(A::CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED),
                by,
            });
        }
    }
    Ok(links)
}

/// Whether the driver says yes of a pair; what it does not know, it does not have.
fn attribute(
    which: cust::sys::CUdevice_P2PAttribute,
    from: cust::sys::CUdevice,
    to: cust::sys::CUdevice,
) -> bool {
    let mut value = 0;
    // SAFETY: the place is valid for the call.
    let code = unsafe { cust::sys::cuDeviceGetP2PAttribute(&mut value, which, from, to) };
    code == cust::sys::cudaError_enum::CUDA_SUCCESS && value != 0
}

/// NVML, for what it knows of pairs.
struct Nvml(Library);

/// `NVML_P2P_CAPS_INDEX_NVLINK`
const NVLINK: c_int = 2;

impl Nvml {
    fn open() -> Option<Self> {
        // SAFETY: the signatures are NVML's, here and below; it is initialised before anything is asked.
        unsafe {
            let library = Library::new("libnvidia-ml.so.1").ok()?;
            let init: Symbol<unsafe extern "C" fn() -> c_int> = library.get(b"nvmlInit_v2\0").ok()?;
            (init() == 0).then_some(())?;
            Some(Self(library))
        }
    }

    fn device(&self, pci_bus_id: &str) -> Option<*mut c_void> {
        let id = CString::new(pci_bus_id).ok()?;
        let mut device = std::ptr::null_mut();
        // SAFETY: as above.
        unsafe {
            let by_id: Symbol<unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int> =
                self.0.get(b"nvmlDeviceGetHandleByPciBusId_v2\0").ok()?;
            (by_id(id.as_ptr(), &mut device) == 0).then_some(device)
        }
    }

    /// The link between two devices.
    fn between(&self, one: *mut c_void, other: *mut c_void) -> Option<&'static str> {
        let (mut status, mut level): (c_int, c_uint) = (-1, 0);
        // SAFETY: as above; the devices came from NVML.
        unsafe {
            let p2p: Symbol<unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, *mut c_int) -> c_int> =
                self.0.get(b"nvmlDeviceGetP2PStatus\0").ok()?;
            if p2p(one, other, NVLINK, &mut status) == 0 && status == 0 {
                return Some("NVLink");
            }
            let ancestor: Symbol<unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_uint) -> c_int> =
                self.0.get(b"nvmlDeviceGetTopologyCommonAncestor\0").ok()?;
            if ancestor(one, other, &mut level) != 0 {
                return None;
            }
        }
        Some(match level {
            0 => "one board",
            1..=10 => "PCIe, one switch",
            11..=20 => "PCIe, several switches",
            21..=30 => "PCIe, one host bridge",
            31..=40 => "PCIe, one CPU",
            _ => "PCIe, and from CPU to CPU",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_said_in_words() {
        let link = Link { between: (0, 1), peers: true, atomics: true, by: Some("NVLink") };
        assert_eq!(link.words(), "NVLink; peers, with atomics");
        let link = Link { peers: false, by: None, ..link };
        assert_eq!(link.words(), "a link that nothing tells; no peers: copies pass through the host");
    }
}
