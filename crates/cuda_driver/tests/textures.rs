//! Arrays, textures, surfaces and virtual memory through the exported symbols.
#![cfg(feature = "foreign")]

mod driver;

use std::ffi::{CStr, c_void};
use std::ptr::null;

use driver::*;
use warpsmith_cuda::abi::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUDA_RESOURCE_DESC, CUDA_RESOURCE_VIEW_DESC,
    CUDA_TEXTURE_DESC, CUmemAccessDesc, CUmemAllocationProp, CUmemLocation,
};

const KERNELS: &CStr = c"
.version 8.0
.target sm_75
.address_size 64
.visible .entry object(.param .u64 t, .param .u64 out)
{
    .reg .b32 %r<4>; .reg .f32 %f<8>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [t]; ld.param.u64 %rd2, [out];
    mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f1, %r1; mov.f32 %f2, 0f3f000000;
    tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];
    mad.wide.u32 %rd2, %r1, 4, %rd2; st.global.f32 [%rd2], %f3;
    ret;
}
.visible .entry twice(.param .u64 s, .param .u64 out)
{
    .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [s];
    mov.u32 %r1, %tid.x; shl.b32 %r1, %r1, 2; mov.u32 %r2, 0;
    suld.b.2d.b32.trap {%f1}, [%rd1, {%r1, %r2}];
    add.f32 %f1, %f1, %f1;
    sust.b.2d.b32.trap [%rd1, {%r1, %r2}], {%f1};
    ret;
}
";

fn module() -> usize {
    let mut module = 0;
    // SAFETY: the text ends with NUL.
    unsafe { ok(cuModuleLoadData(out(&mut module), KERNELS.as_ptr().cast())) };
    module
}

/// Runs a kernel of four threads with a handle and an array of four floats; gives the floats.
fn run(module: usize, kernel: &CStr, handle: u64) -> [f32; 4] {
    let (mut function, mut buffer, mut values) = (0, 0u64, [0f32; 4]);
    // SAFETY: all places are valid, parameters are those of the kernels.
    unsafe {
        ok(cuModuleGetFunction(out(&mut function), module, Text::new(kernel.as_ptr())));
        ok(cuMemAlloc_v2(out(&mut buffer), 16));
        let (mut a, mut b) = (handle, buffer);
        let params: [*mut c_void; 2] = [(&raw mut a).cast(), (&raw mut b).cast()];
        ok(cuLaunchKernel(function, 1, 1, 1, 4, 1, 1, 0, 0, In::new(params.as_ptr()), In::new(null())));
        ok(cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), buffer, 16));
        ok(cuMemFree_v2(buffer));
    }
    values
}

/// An array of one row, as a surface.
fn array(values: [f32; 4]) -> usize {
    let mut array = 0;
    let descriptor =
        CUDA_ARRAY3D_DESCRIPTOR { Width: 4, Height: 1, Depth: 0, Format: 0x20, NumChannels: 1, Flags: 2 };
    // SAFETY: all places are valid.
    unsafe {
        ok(cuArray3DCreate_v2(out(&mut array), given(&descriptor)));
        ok(cuMemcpyHtoA_v2(array, 0, values.as_ptr().cast(), 16));
    }
    array
}

fn resource(kind: u32, words: &[u64]) -> CUDA_RESOURCE_DESC {
    let mut res = [0; 16];
    res[..words.len()].copy_from_slice(words);
    CUDA_RESOURCE_DESC { resType: kind, res, flags: 0 }
}

/// Clamped, linear, in elements.
fn linear() -> CUDA_TEXTURE_DESC {
    CUDA_TEXTURE_DESC {
        addressMode: [1; 3],
        filterMode: 1,
        flags: 0,
        maxAnisotropy: 0,
        mipmapFilterMode: 0,
        mipmapLevelBias: 0.0,
        minMipmapLevelClamp: 0.0,
        maxMipmapLevelClamp: 0.0,
        borderColor: [0.0; 4],
        reserved: [0; 12],
    }
}

#[test]
fn objects_on_arrays_and_on_memory() {
    current();
    let module = module();
    let array = array([1.0, 2.0, 4.0, 8.0]);
    let (mut texture, mut surface, mut memory) = (0, 0, 0);
    // SAFETY: all places are valid.
    unsafe {
        let on_array = resource(0, &[array as u64]);
        ok(cuTexObjectCreate(out(&mut texture), given(&on_array), given(&linear()), In::new(null())));
        // At the left edge of each element, half of its neighbour.
        assert_eq!(run(module, c"object", texture), [1.0, 1.5, 3.0, 6.0]);
        ok(cuSurfObjectCreate(out(&mut surface), given(&on_array)));
        run(module, c"twice", surface);
        assert_eq!(run(module, c"object", texture), [2.0, 3.0, 6.0, 12.0]);
        let mut asked = resource(9, &[]);
        ok(cuTexObjectGetResourceDesc(out(&mut asked), texture));
        assert_eq!((asked.resType, asked.res[0]), (0, array as u64));
        ok(cuTexObjectDestroy(texture));
        assert_eq!(cuTexObjectDestroy(texture), CUresult::INVALID_VALUE);
        ok(cuSurfObjectDestroy(surface));

        ok(cuMemAlloc_v2(out(&mut memory), 64));
        ok(cuMemcpyHtoD_v2(memory, [3.0f32, 5.0, 7.0, 9.0].as_ptr().cast(), 16));
        let pitched = resource(3, &[memory, 0x20 | 1 << 32, 4, 1, 32]);
        ok(cuTexObjectCreate(out(&mut texture), given(&pitched), given(&linear()), In::new(null())));
        assert_eq!(run(module, c"object", texture), [3.0, 4.0, 6.0, 8.0]);
        ok(cuTexObjectDestroy(texture));
        // A pitch that is no multiple of 32, an address between elements, an array that is none.
        for wrong in [
            resource(3, &[memory, 0x20 | 1 << 32, 4, 1, 16]),
            resource(2, &[memory + 4, 0x20 | 1 << 32, 16]),
            resource(7, &[memory]),
        ] {
            let code = cuTexObjectCreate(out(&mut texture), given(&wrong), given(&linear()), In::new(null()));
            assert_eq!(code, CUresult::INVALID_VALUE);
        }
        ok(cuMemFree_v2(memory));
        ok(cuArrayDestroy(array));
    }
}

#[test]
fn levels_of_a_mipmapped_array() {
    current();
    let descriptor =
        CUDA_ARRAY3D_DESCRIPTOR { Width: 8, Height: 4, Depth: 0, Format: 0x20, NumChannels: 1, Flags: 0 };
    let (mut mipmap, mut level) = (0, 0);
    // SAFETY: all places are valid.
    unsafe {
        ok(cuMipmappedArrayCreate(out(&mut mipmap), given(&descriptor), 10));
        for (number, sizes) in [(8, 4), (4, 2), (2, 1), (1, 1)].into_iter().enumerate() {
            ok(cuMipmappedArrayGetLevel(out(&mut level), mipmap, number as u32));
            let mut d = CUDA_ARRAY_DESCRIPTOR { Width: 0, Height: 0, Format: 0, NumChannels: 0 };
            ok(cuArrayGetDescriptor_v2(out(&mut d), level));
            assert_eq!((d.Width, d.Height), sizes);
        }
        assert_eq!(cuMipmappedArrayGetLevel(out(&mut level), mipmap, 4), CUresult::INVALID_VALUE);
        ok(cuMipmappedArrayDestroy(mipmap));
    }
}

#[test]
fn addresses_are_reserved_mapped_and_given_access() {
    current();
    const PAGE: usize = 2 << 20;
    let location = CUmemLocation { r#type: 1, id: 0 };
    let properties = CUmemAllocationProp {
        r#type: 1,
        requestedHandleTypes: 0,
        location,
        win32HandleMetaData: std::ptr::null_mut(),
        compressionType: 0,
        gpuDirectRDMACapable: 0,
        usage: 0,
        reserved: [0; 4],
    };
    let (mut granularity, mut start, mut first, mut second, mut access) = (0, 0, 0, 0, 9);
    // SAFETY: all places are valid.
    unsafe {
        ok(cuMemGetAllocationGranularity(out(&mut granularity), given(&properties), 0));
        assert_eq!(granularity, PAGE);
        ok(cuMemAddressReserve(out(&mut start), 4 * PAGE, 0, 0, 0));
        ok(cuMemCreate(out(&mut first), PAGE, given(&properties), 0));
        ok(cuMemCreate(out(&mut second), PAGE, given(&properties), 0));
        ok(cuMemMap(start, PAGE, 0, first, 0));
        ok(cuMemMap(start + PAGE as u64, PAGE, 0, second, 0));
        assert_eq!(cuMemMap(start, PAGE, 0, second, 0), CUresult::INVALID_VALUE);
        // Nothing may touch it yet.
        assert_ne!(cuMemsetD8_v2(start, 7, 16), CUresult::SUCCESS);
        let both = CUmemAccessDesc { location, flags: 3 };
        ok(cuMemSetAccess(start, 2 * PAGE, given(&both), 1));
        ok(cuMemGetAccess(out(&mut access), given(&location), start + 5));
        assert_eq!(access, 3);
        let mut bytes = [0u8; 8];
        ok(cuMemsetD8_v2(start, 7, 2 * PAGE));
        ok(cuMemcpyHtoD_v2(start + PAGE as u64 - 2, [1u8, 2, 3, 4].as_ptr().cast(), 4));
        ok(cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), start + PAGE as u64 - 4, 8));
        assert_eq!(bytes, [7, 7, 1, 2, 3, 4, 7, 7]);
        // The memory outlives its handle while it is mapped, and the addresses their mappings.
        ok(cuMemRelease(first));
        ok(cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), start, 8));
        assert_eq!(cuMemAddressFree(start, 4 * PAGE), CUresult::INVALID_VALUE);
        ok(cuMemUnmap(start, 2 * PAGE));
        assert_ne!(cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), start, 8), CUresult::SUCCESS);
        ok(cuMemAddressFree(start, 4 * PAGE));
        ok(cuMemRelease(second));
        assert_eq!(cuMemAddressReserve(out(&mut start), PAGE / 2, 0, 0, 0), CUresult::INVALID_VALUE);
    }
}

/// The answers are an H200's (CUDA 13).
#[test]
fn a_view_reads_an_arrays_bytes_in_another_format() {
    const REFUSED: CUresult = CUresult::INVALID_VALUE;
    /// `CU_RES_VIEW_FORMAT_…`
    const UINT_4X8: u32 = 3;
    const UINT_1X32: u32 = 13;
    const FLOAT_1X32: u32 = 22;
    const FLOAT_4X32: u32 = 24;
    own_context();
    let module = module();
    let view = |format: u32, width: usize, height: usize, layers: [u32; 2], levels: [u32; 2]| {
        // SAFETY: all of it may be zero.
        let mut view: CUDA_RESOURCE_VIEW_DESC = unsafe { std::mem::zeroed() };
        (view.format, view.width, view.height) = (format, width, height);
        [view.firstLayer, view.lastLayer] = layers;
        [view.firstMipmapLevel, view.lastMipmapLevel] = levels;
        view
    };
    let texture = |resource: &CUDA_RESOURCE_DESC, view: &CUDA_RESOURCE_VIEW_DESC| {
        // SAFETY: all of it may be zero.
        let sampler: CUDA_TEXTURE_DESC = unsafe { std::mem::zeroed() };
        let mut object = 0;
        // SAFETY: the places are valid.
        match unsafe { cuTexObjectCreate(out(&mut object), given(resource), given(&sampler), given(view)) } {
            OK => Ok(object),
            code => Err(code),
        }
    };
    let floats = resource(0, &[array([1.0, 2.0, 3.0, 4.0]) as u64]);
    let whole = |format| view(format, 4, 1, [0; 2], [0; 2]);
    let same = texture(&floats, &whole(FLOAT_1X32)).unwrap();
    assert_eq!(run(module, c"object", same), [1.0, 2.0, 3.0, 4.0]);
    // The lowest byte of each float, of 255: the view's format normalises it.
    let bytes = array([0x3f80_00ffu32, 0x0000_0033, 0, 0x1234_56ff].map(f32::from_bits));
    let bytes = texture(&resource(0, &[bytes as u64]), &whole(UINT_4X8)).unwrap();
    assert_eq!(run(module, c"object", bytes), [1.0, 0.2, 0.0, 1.0]);
    assert!(texture(&floats, &whole(UINT_1X32)).is_ok());
    for wrong in [
        whole(0),
        whole(FLOAT_4X32),
        view(FLOAT_1X32, 2, 1, [0; 2], [0; 2]),
        view(FLOAT_1X32, 4, 0, [0; 2], [0; 2]),
        view(FLOAT_1X32, 4, 1, [0, 1], [0; 2]),
        view(FLOAT_1X32, 4, 1, [0; 2], [0, 1]),
    ] {
        assert_eq!(texture(&floats, &wrong), Err(REFUSED));
    }
    // Plain memory has no views.
    let mut memory = 0;
    // SAFETY: the place is valid.
    unsafe { ok(cuMemAlloc_v2(out(&mut memory), 4096)) };
    let line = resource(2, &[memory, 0x20 | 1 << 32, 4096]);
    assert!(texture(&line, &whole(0)).is_ok() && texture(&line, &whole(FLOAT_4X32)).is_ok());
}
