//! Calls whose answers were noted on an H200 (CUDA 13): pools of every kind of memory, advice on managed memory, wished addresses,
//! the shared memory that is left for a block.
#![cfg(feature = "foreign")]

mod driver;

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

use driver::*;
use warpsmith_cuda::abi::{CUmemLocation, CUmemPoolProps};

const REFUSED: CUresult = CUresult::INVALID_VALUE;
/// `CU_MEM_ALLOCATION_TYPE_…`
const PINNED: u32 = 1;
const MANAGED: u32 = 2;
/// `CU_MEM_LOCATION_TYPE_…`
const DEVICE: u32 = 1;
const HOST: u32 = 2;
const HOST_NUMA: u32 = 3;
const HOST_NUMA_CURRENT: u32 = 4;
/// `CU_POINTER_ATTRIBUTE_…`
const MEMORY_TYPE: u32 = 2;
const IS_MANAGED: u32 = 8;

fn pool(kind: u32, location: u32) -> Result<usize, CUresult> {
    // SAFETY: all of it may be zero.
    let mut properties: CUmemPoolProps = unsafe { std::mem::zeroed() };
    (properties.allocType, properties.location.r#type) = (kind, location);
    let mut pool = 0;
    // SAFETY: the place is valid.
    match unsafe { cuMemPoolCreate(out(&mut pool), given(&properties)) } {
        OK => Ok(pool),
        code => Err(code),
    }
}

fn of_pool(pool: usize, bytes: usize) -> u64 {
    let mut address = 7;
    // SAFETY: the place is valid.
    unsafe { ok(cuMemAllocFromPoolAsync(out(&mut address), bytes, pool, 0)) };
    address
}

fn attribute(number: u32, address: u64) -> u32 {
    let mut value = 99u32;
    // SAFETY: both attributes have four bytes or fewer.
    unsafe { ok(cuPointerGetAttribute((&raw mut value).cast(), number, address)) };
    value & 0xff
}

#[test]
fn pools_have_memory_of_the_device_of_the_host_or_managed() {
    own_context();
    let mut here = CUmemLocation { r#type: DEVICE, id: 0 };
    let access = |pool: usize, here: &mut CUmemLocation| {
        let mut flags = 9;
        // SAFETY: the places are valid.
        unsafe { ok(cuMemPoolGetAccess(out(&mut flags), pool, out(here))) };
        flags
    };
    // Memory type and whether it is managed, access of the device, a fill by it.
    let kinds = [
        (PINNED, DEVICE, (2, 0), 3, OK),
        (MANAGED, DEVICE, (2, 1), 0, OK),
        (MANAGED, HOST, (2, 1), 0, OK),
        (PINNED, HOST, (1, 0), 0, REFUSED),
        (PINNED, HOST_NUMA, (1, 0), 0, REFUSED),
    ];
    for (kind, location, told, flags, filled) in kinds {
        let pool = pool(kind, location).unwrap();
        let address = of_pool(pool, 4096);
        assert_eq!((attribute(MEMORY_TYPE, address), attribute(IS_MANAGED, address)), told);
        assert_eq!(access(pool, &mut here), flags);
        let access = [DEVICE, 0, 3];
        // SAFETY: the description is whole; memory on the host is written after the fill.
        unsafe {
            assert_eq!(cuMemsetD8_v2(address, 1, 64), filled);
            ok(cuMemPoolSetAccess(pool, In::new(access.as_ptr().cast()), 1));
            ok(cuMemsetD8_v2(address, 5, 64));
            ok(cuCtxSynchronize());
            if (kind, location) != (PINNED, DEVICE) {
                assert_eq!((address as *const u8).add(63).read_volatile(), 5);
            }
            ok(cuMemFreeAsync(address, 0));
            ok(cuMemPoolDestroy(pool));
        }
    }
    assert_eq!(pool(PINNED, HOST_NUMA_CURRENT), Err(REFUSED));
}

#[test]
fn nothing_is_allocated_for_no_bytes() {
    own_context();
    let mut default = 0;
    let mut address = 7;
    // SAFETY: the places are valid.
    unsafe {
        ok(cuDeviceGetDefaultMemPool(out(&mut default), 0));
        assert_eq!(of_pool(default, 0), 0);
        ok(cuMemAllocAsync(out(&mut address), 0, 0));
        assert_eq!(address, 0);
    }
}

#[test]
fn every_place_has_a_default_pool() {
    own_context();
    let mut pools = Vec::new();
    for (location, kind, answer) in [
        (DEVICE, PINNED, OK),
        (DEVICE, MANAGED, OK),
        (HOST, PINNED, OK),
        (HOST, MANAGED, OK),
        (HOST_NUMA_CURRENT, PINNED, CUresult::NOT_SUPPORTED),
        (0, PINNED, REFUSED),
    ] {
        let mut pool = 0;
        let location = CUmemLocation { r#type: location, id: 0 };
        // SAFETY: the place is valid.
        let code = unsafe { cuMemGetDefaultMemPool(out(&mut pool), given(&location), kind) };
        assert_eq!(code, answer);
        pools.extend((code == OK).then_some(pool));
    }
    let mut of_device = 0;
    // SAFETY: the place is valid.
    unsafe { ok(cuDeviceGetDefaultMemPool(out(&mut of_device), 0)) };
    assert_eq!(pools[0], of_device);
    let count = pools.len();
    pools.sort_unstable();
    pools.dedup();
    assert_eq!(pools.len(), count);
}

#[test]
fn advice_on_managed_memory_is_told_again() {
    const BYTES: usize = 1 << 20;
    own_context();
    let mut memory = 0;
    // SAFETY: the place is valid.
    unsafe { ok(cuMemAllocManaged(out(&mut memory), BYTES, 1)) };
    let told = |attribute: u32, count: usize| {
        let mut values = [99i32; 4];
        let place: *mut c_void = values.as_mut_ptr().cast();
        // SAFETY: at most four words.
        unsafe { ok(cuMemRangeGetAttribute(place, 4 * count, attribute, memory, BYTES)) };
        values[..count].to_vec()
    };
    let all = || [told(1, 1), told(2, 1), told(3, 3), told(4, 1)].concat();
    assert_eq!(all(), [0, -2, -2, -2, -2, -2]);
    for (advice, device, answer) in [
        (1, 0, [1, -2, -2, -2, -2, -2]),
        (3, 0, [1, 0, -2, -2, -2, -2]),
        (5, -1, [1, 0, -1, -2, -2, -2]),
        (5, 0, [1, 0, 0, -1, -2, -2]),
        (3, -1, [1, -1, 0, -1, -2, -2]),
        (4, 0, [1, -2, 0, -1, -2, -2]),
        (6, 0, [1, -2, -1, -2, -2, -2]),
        (2, 0, [0, -2, -1, -2, -2, -2]),
    ] {
        // SAFETY: no pointer is passed.
        unsafe { ok(cuMemAdvise(memory, BYTES, advice, device)) };
        assert_eq!(all(), answer, "advice {advice} for {device}");
    }
    let mut two = [0i32; 2];
    // SAFETY: two words; no other pointer is passed.
    unsafe {
        ok(cuMemPrefetchAsync(memory, BYTES, 0, 0));
        assert_eq!(told(4, 1), [0]);
        ok(cuMemPrefetchAsync(memory, 1 << 16, -1, 0));
        assert_eq!(told(4, 1), [-2], "not all of it is in one place");
        let place: *mut c_void = two.as_mut_ptr().cast();
        assert_eq!(cuMemRangeGetAttribute(place, 8, 2, memory, BYTES), REFUSED);
        assert_eq!(cuMemAdvise(memory, BYTES, 9, 0), REFUSED);
        ok(cuMemFree_v2(memory));
    }
}

#[test]
fn addresses_that_are_free_are_reserved_as_wished() {
    const PAGE: usize = 2 << 20;
    own_context();
    let reserve = |alignment: usize, wished: u64| {
        let mut start = 0;
        // SAFETY: the place is valid.
        let code = unsafe { cuMemAddressReserve(out(&mut start), PAGE, alignment, wished, 0) };
        if code == OK { Ok(start) } else { Err(code) }
    };
    let first = reserve(0, 0).unwrap();
    let behind = first + PAGE as u64;
    assert_eq!(reserve(0, behind), Ok(behind), "so that memory grows where it lies");
    let other = reserve(0, first).unwrap();
    assert!(other != first && other != behind);
    // What is allocated next lies elsewhere.
    let far = (other + (64 << 20)).next_multiple_of(PAGE as u64);
    assert_eq!(reserve(0, far), Ok(far));
    let mut memory = 0;
    // SAFETY: the place is valid.
    unsafe { ok(cuMemAlloc_v2(out(&mut memory), 64 << 20)) };
    assert!(memory + (64 << 20) <= far || memory >= far + PAGE as u64, "{memory:#x} at {far:#x}");
    assert_eq!(reserve(0, behind + 4096), Err(REFUSED));
    assert_eq!(reserve(1 << 30, (1 << 30) + PAGE as u64), Err(REFUSED));
    assert_eq!(reserve(3 << 20, 0), Err(REFUSED));
}

const KERNELS: &CStr = c"
.version 7.8
.target sm_90
.address_size 64
.visible .entry plain() { ret; }
.visible .entry fixed()
{
    .reg .b32 r; .shared .align 4 .b8 m[5000];
    mov.u32 r, m; st.shared.u32 [r], r; ret;
}
";

#[test]
fn the_shared_memory_left_for_a_block_is_an_even_share() {
    own_context();
    let mut module = 0;
    // SAFETY: the text ends with NUL.
    unsafe { ok(cuModuleLoadData(out(&mut module), KERNELS.as_ptr().cast())) };
    for (name, fixed) in [(c"plain", 0), (c"fixed", 5000)] {
        let mut function = 0;
        // SAFETY: the place is valid.
        unsafe { ok(cuModuleGetFunction(out(&mut function), module, text(name))) };
        let left = |blocks: i32, threads: i32| {
            let mut bytes = 9;
            // SAFETY: the place is valid.
            let code = unsafe {
                cuOccupancyAvailableDynamicSMemPerBlock(out(&mut bytes), function, blocks, threads)
            };
            if code == OK { Ok(bytes) } else { Err(code) }
        };
        for (blocks, threads) in [(1, 32), (1, 1024), (2, 32), (2, 1024), (3, 512), (4, 64)] {
            assert_eq!(left(blocks, threads), Ok(49_152 - fixed));
        }
        for (blocks, threads, bytes) in [(8, 256, 29_184), (16, 128, 14_592), (32, 64, 7_296)] {
            assert_eq!(left(blocks, threads), Ok(bytes - fixed));
        }
        for (blocks, threads) in [(33, 32), (0, 32), (1, 0), (1, 1025), (3, 1024), (64, 32)] {
            assert_eq!(left(blocks, threads), Err(REFUSED), "{blocks} blocks of {threads}");
        }
        // Half of the memory for shared, and up to 200,000 bytes for a block.
        // SAFETY: no pointer is passed.
        unsafe {
            ok(cuFuncSetAttribute(function, 9, 50));
            ok(cuFuncSetAttribute(function, 8, 200_000));
        }
        assert_eq!(left(1, 32), Ok(200_000));
        assert_eq!(left(2, 32), Ok(67_584 - fixed));
        assert_eq!(left(8, 256), Ok(16_896 - fixed));
    }
}

#[test]
fn no_function_has_no_name() {
    own_context();
    let mut name: *const c_char = null();
    let mut module = 0;
    // SAFETY: the places are valid.
    unsafe {
        assert_eq!(cuFuncGetName(out(&mut name), 0), REFUSED);
        assert_eq!(cuKernelGetName(out(&mut name), 0), REFUSED);
        assert_eq!(cuFuncGetModule(out(&mut module), 0), REFUSED);
        assert_eq!(cuFuncGetName(Out::new(null_mut()), 0), REFUSED);
    }
    assert!(name.is_null());
}
