//! The device: its number, name and attributes.

use std::ffi::c_char;

use crate::abi::pointers::fill_text;
use crate::abi::{
    Answer, CUdevice, CUdevice_P2PAttribute, CUdevice_attribute, CUdevprop, CUresult, CUuuid, In, Out, Text,
};
use crate::objects::device::{Device, device, devices, initialise, initialised};
use crate::objects::device_attributes::device_attribute;

pub fn cuInit(flags: u32) -> Answer {
    if flags != 0 {
        return Err(CUresult::INVALID_VALUE);
    }
    initialise();
    Ok(())
}

pub fn cuDeviceGet(place: Out<CUdevice>, ordinal: i32) -> Answer {
    initialised()?;
    place.required()?;
    device(ordinal)?;
    place.set(ordinal)
}

pub fn cuDeviceGetCount(count: Out<i32>) -> Answer {
    initialised()?;
    count.set(devices().len() as i32)
}

pub fn cuDeviceGetName(name: Out<c_char>, len: i32, dev: CUdevice) -> Answer {
    name.required()?;
    let device = device(dev)?;
    let size = usize::try_from(len).map_err(|_| CUresult::INVALID_VALUE)?;
    fill_text(name, size, &format!("{} (virtual)", device.chip().name));
    Ok(())
}

pub fn cuDeviceGetUuid(uuid: Out<CUuuid>, dev: CUdevice) -> Answer {
    let device = device(dev)?;
    let mut bytes = *b"warpsmith virt\0\0";
    bytes[14..].copy_from_slice(&device.bus.to_le_bytes()[..2]);
    uuid.set(CUuuid { bytes })
}

pub fn cuDeviceTotalMem_v2(bytes: Out<usize>, dev: CUdevice) -> Answer {
    bytes.set(device(dev)?.gpu.memory().info().1 as usize)
}

pub fn cuDeviceGetAttribute(value: Out<i32>, number: u32, dev: CUdevice) -> Answer {
    value.required()?;
    let device = device(dev)?;
    // Those added in CUDA 13 concern features that the virtual device lacks.
    const NEWER: std::ops::RangeInclusive<u32> = 135..=161;
    value.set(match CUdevice_attribute::try_from(number) {
        Ok(CUdevice_attribute::PCI_BUS_ID) => device.bus as i32,
        Ok(attribute) => device_attribute(device.chip(), attribute),
        Err(_) if NEWER.contains(&number) => 0,
        Err(invalid) => return Err(invalid),
    })
}

pub fn cuDeviceComputeCapability(major: Out<i32>, minor: Out<i32>, dev: CUdevice) -> Answer {
    let capability = device(dev)?.chip().capability();
    major.set(capability.major.into())?;
    minor.set(capability.minor.into())
}

pub fn cuDeviceGetProperties(properties: Out<CUdevprop>, dev: CUdevice) -> Answer {
    let chip = device(dev)?.chip();
    use CUdevice_attribute::*;
    let of = |attribute| device_attribute(chip, attribute);
    properties.set(CUdevprop {
        maxThreadsPerBlock: of(MAX_THREADS_PER_BLOCK),
        maxThreadsDim: [of(MAX_BLOCK_DIM_X), of(MAX_BLOCK_DIM_Y), of(MAX_BLOCK_DIM_Z)],
        maxGridSize: [of(MAX_GRID_DIM_X), of(MAX_GRID_DIM_Y), of(MAX_GRID_DIM_Z)],
        sharedMemPerBlock: of(MAX_SHARED_MEMORY_PER_BLOCK),
        totalConstantMemory: of(TOTAL_CONSTANT_MEMORY),
        SIMDWidth: of(WARP_SIZE),
        memPitch: of(MAX_PITCH),
        regsPerBlock: of(MAX_REGISTERS_PER_BLOCK),
        clockRate: of(CLOCK_RATE),
        textureAlign: of(TEXTURE_ALIGNMENT),
    })
}

fn bus_id(device: &Device) -> String {
    let pci = device.chip().pci;
    format!("{:08X}:{:02X}:{:02X}.0", pci.domain, device.bus, pci.device)
}

pub fn cuDeviceGetPCIBusId(place: Out<c_char>, len: i32, dev: CUdevice) -> Answer {
    place.required()?;
    let device = device(dev)?;
    let size = usize::try_from(len).map_err(|_| CUresult::INVALID_VALUE)?;
    let id = bus_id(device);
    // The short form of the domain if the long one does not fit, like the driver.
    let id = if size > id.len() { id } else { id[4..].to_owned() };
    if size <= id.len() {
        return Err(CUresult::INVALID_VALUE);
    }
    fill_text(place, size, &id);
    Ok(())
}

pub fn cuDeviceGetByPCIBusId(place: Out<CUdevice>, id: Text) -> Answer {
    initialised()?;
    place.required()?;
    let wanted = id.get()?.to_ascii_uppercase();
    // Domain and function are optional.
    let numbers = |text: &str| -> Option<Vec<u32>> {
        let mut parts: Vec<u32> = text
            .split_once('.')
            .map_or(text, |(place, _)| place)
            .split(':')
            .map(|part| u32::from_str_radix(part, 16))
            .collect::<Result<_, _>>()
            .ok()?;
        if parts.len() == 2 {
            parts.insert(0, 0);
        }
        (parts.len() == 3).then_some(parts)
    };
    let wanted = numbers(&wanted).ok_or(CUresult::INVALID_VALUE)?;
    let found = devices().iter().find(|device| numbers(&bus_id(device)).as_ref() == Some(&wanted));
    place.set(found.ok_or(CUresult::INVALID_DEVICE)?.number)
}

pub fn cuDeviceCanAccessPeer(can: Out<i32>, dev: CUdevice, peer_dev: CUdevice) -> Answer {
    can.required()?;
    can.set(device(dev)?.can_access(device(peer_dev)?).into())
}

pub fn cuDeviceGetP2PAttribute(
    value: Out<i32>,
    attribute: u32,
    source: CUdevice,
    destination: CUdevice,
) -> Answer {
    value.required()?;
    let (source, destination) = (device(source)?, device(destination)?);
    if source.number == destination.number {
        // A device is not its own peer.
        return Err(CUresult::INVALID_DEVICE);
    }
    let can = source.can_access(destination).into();
    value.set(match CUdevice_P2PAttribute::try_from(attribute)? {
        // The speed of links is not modelled: all rank equal.
        CUdevice_P2PAttribute::PERFORMANCE_RANK => 0,
        CUdevice_P2PAttribute::ACCESS_SUPPORTED
        | CUdevice_P2PAttribute::NATIVE_ATOMIC_SUPPORTED
        | CUdevice_P2PAttribute::CUDA_ARRAY_ACCESS_SUPPORTED => can,
        // "Only some atomics": none, since all are there.
        CUdevice_P2PAttribute::ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED => 0,
    })
}

pub fn cuDeviceGetExecAffinitySupport(supported: Out<i32>, _kind: u32, dev: CUdevice) -> Answer {
    device(dev)?;
    supported.set(0)
}

pub fn cuDeviceGetLuid(_luid: Out<c_char>, _mask: Out<u32>, dev: CUdevice) -> Answer {
    device(dev)?;
    // Locally unique identifiers are Windows'.
    Err(CUresult::NOT_SUPPORTED)
}

pub fn cuDeviceGetTexture1DLinearMaxWidth(
    width: Out<usize>,
    _format: u32,
    _channels: u32,
    dev: CUdevice,
) -> Answer {
    device(dev)?;
    width.set(1 << 27)
}

/// Tables that the CUDA runtime requests from the driver first; their content is not published.
const RUNTIME_TABLES: [[u8; 16]; 2] = [
    [0xf8, 0xcf, 0xf9, 0x51, 0x21, 0x46, 0x8b, 0x4e, 0xb9, 0xe2, 0xfb, 0x46, 0x9e, 0x7c, 0x0d, 0xd9],
    [0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9],
];

pub fn cuGetExportTable(table: Out<*const std::ffi::c_void>, id: In<CUuuid>) -> Answer {
    static TOLD: std::sync::Once = std::sync::Once::new();
    table.set(std::ptr::null())?;
    if RUNTIME_TABLES.contains(&id.get()?.bytes) {
        TOLD.call_once(|| {
            eprintln!(
                "warpsmith: this program uses the CUDA runtime API (cudart), which needs NVIDIA's own driver; \
                 the virtual GPU serves the driver API (cu... functions)"
            );
        });
    }
    Err(CUresult::INVALID_VALUE)
}
