//! What the PTX manual leaves open of textures and surfaces on arrays: whole-number coordinates, a cube's direction of length zero,
//! and queries. Expected is what an H100 answered (driver 580.159.04).

use anyhow::ensure;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::module::Module;
use cust::sys;
use sys::CUaddress_mode as Mode;
use sys::CUarray_format::{CU_AD_FORMAT_FLOAT as F32, CU_AD_FORMAT_UNSIGNED_INT8 as U8};
use warpsmith_launch::Device;

use crate::{Case, Needs};

const WRAP: Mode = Mode::CU_TR_ADDRESS_MODE_WRAP;
const CLAMP: Mode = Mode::CU_TR_ADDRESS_MODE_CLAMP;
const MIRROR: Mode = Mode::CU_TR_ADDRESS_MODE_MIRROR;
const BORDER: Mode = Mode::CU_TR_ADDRESS_MODE_BORDER;
/// Of a texture: coordinates from 0 to 1.
const NORMALIZED: u32 = sys::CU_TRSF_NORMALIZED_COORDINATES;
const BORDER_COLOUR: f32 = -7.0;

/// The cases.
pub fn cases() -> Vec<Case> {
    let any = [
        Case::new("images::whole_numbers_outside_read_zero", whole_numbers),
        Case::new("images::whole_numbers_find_layers_and_depths", layers),
        Case::new("images::a_direction_without_length_meets_a_face", directions),
        Case::new("images::textures_and_surfaces_tell_what_they_are", images_tell),
    ];
    any.map(|case| case.needs(Needs::AtLeast((7, 5)))).into()
}

/// The elements of a line of 4: no mode has a say.
fn whole_numbers(device: &Device) -> anyhow::Result<()> {
    let at = [-6, -4, -2, -1, 0, 1, 3, 4, 5, 9, i32::MIN, i32::MAX];
    let places: Vec<[u32; 4]> = at.iter().map(|x| [*x as u32, 1, 0, 0]).collect();
    let mut wrong = Vec::new();
    for flags in [0, NORMALIZED] {
        for mode in [WRAP, CLAMP, MIRROR, BORDER] {
            let array = Array::new(F32, 1, [4, 3, 0], 0)?;
            let texture = array.texture(mode, flags)?;
            let got = fetch(device, "tex.2d.v4.f32.s32", "%i0, %i1", texture, &places)?;
            for (x, [got, ..]) in at.iter().zip(got) {
                let expected = if (0..4).contains(x) { (4 + x) as f32 } else { 0.0 };
                let got = f32::from_bits(got);
                if got != expected {
                    wrong.push(format!("flags {flags}, mode {mode:?}, at {x}: {got}, expected {expected}"));
                }
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

fn layers(device: &Device) -> anyhow::Result<()> {
    let mut wrong = Vec::new();
    let mut expect = |what: &str, got: Vec<[u32; 4]>, expected: &[f32]| {
        let got: Vec<f32> = got.into_iter().map(|[got, ..]| f32::from_bits(got)).collect();
        if got != expected {
            wrong.push(format!("{what}: {got:?}, expected {expected:?}"));
        }
    };
    let volume = Array::new(F32, 1, [2, 2, 3], 0)?;
    let places = [[1, 1, 2, 0], [0, 1, 1, 0], [1, 0, 9, 0], [1, 0, u32::MAX, 0]];
    let texture = volume.texture(CLAMP, 0)?;
    let got = fetch(device, "tex.3d.v4.f32.s32", "%i0, %i1, %i2, %i2", texture, &places)?;
    expect("a volume", got, &[11.0, 6.0, 0.0, 0.0]);

    let stack = Array::new(F32, 1, [2, 2, 3], sys::CUDA_ARRAY3D_LAYERED)?;
    let texture = stack.texture(CLAMP, 0)?;
    let got = fetch(device, "tex.a2d.v4.f32.s32", "%i2, %i0, %i1, %i1", texture, &places)?;
    expect("layers", got, &[11.0, 6.0, 0.0, 0.0]);
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Faces of 2 × 2: each element's number is 4 × its face and its place.
fn directions(device: &Device) -> anyhow::Result<()> {
    let cube = Array::new(F32, 1, [2, 2, 6], sys::CUDA_ARRAY3D_CUBEMAP)?;
    let texture = cube.texture(CLAMP, NORMALIZED)?;
    let (zero, none, nan) = (0.0f32, -0.0f32, f32::NAN);
    // The last corner of face 4.
    let cases = [
        [zero, zero, zero],
        [none, zero, zero],
        [zero, none, zero],
        [zero, zero, none],
        [none, none, none],
        [nan, zero, zero],
        [nan, nan, nan],
    ];
    let places = cases.map(|[x, y, z]| [x.to_bits(), y.to_bits(), z.to_bits(), 0]);
    let got = fetch(device, "tex.cube.v4.f32.f32", "%f0, %f1, %f2, %f3", texture, &places)?;
    let got: Vec<f32> = got.into_iter().map(|[got, ..]| f32::from_bits(got)).collect();
    ensure!(got == [19.0; 7], "{got:?}");
    Ok(())
}

/// Extents are told; modules that ask a handle for its type, order and coordinates are refused by the driver, and answered here.
fn images_tell(device: &Device) -> anyhow::Result<()> {
    let plane = Array::new(U8, 4, [6, 5, 0], sys::CUDA_ARRAY3D_SURFACE_LDST)?;
    let volume = Array::new(F32, 1, [2, 3, 4], sys::CUDA_ARRAY3D_SURFACE_LDST)?;
    let textures = [plane.texture(CLAMP, NORMALIZED)?, volume.texture(CLAMP, 0)?];
    let surfaces = [plane.surface()?, volume.surface()?];
    let mut wrong = Vec::new();
    for (instruction, [of_plane, of_volume]) in [("txq", textures), ("suq", surfaces)] {
        for (question, handle, expected) in [
            ("width", of_plane, 6),
            ("height", of_plane, 5),
            ("width", of_volume, 2),
            ("height", of_volume, 3),
            ("depth", of_volume, 4),
        ] {
            match ask(device, instruction, question, handle) {
                Ok(got) if got == expected => {}
                got => wrong.push(format!("{instruction}.{question}: {got:?}, expected {expected}")),
            }
        }
        for (question, expected) in [("channel_order", 0x10b0), ("channel_data_type", 0x10de)] {
            match ask(device, instruction, question, of_volume) {
                Err(_) if !device.is_virtual() => {}
                Ok(got) if got == expected && device.is_virtual() => {}
                got => wrong.push(format!("{instruction}.{question}: {got:?}")),
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(())
}

/// Asks for an image's property.
fn ask(device: &Device, instruction: &str, question: &str, handle: u64) -> anyhow::Result<u32> {
    let zeros = "mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r4, 0;";
    let body = format!("{instruction}.{question}.b32 %r1, [%rd0]; {zeros}");
    Ok(run(device, &body, handle, &[[0; 4]])?[0][0])
}

/// Fetches once a thread.
fn fetch(
    device: &Device,
    instruction: &str,
    coordinates: &str,
    texture: u64,
    places: &[[u32; 4]],
) -> anyhow::Result<Vec<[u32; 4]>> {
    run(device, &format!("{instruction} {{%r1, %r2, %r3, %r4}}, [%rd0, {{{coordinates}}}];"), texture, places)
}

/// Runs `body` once a thread, with four words as `%i` and `%f`, and returns `%r1` to `%r4`.
fn run(device: &Device, body: &str, handle: u64, inputs: &[[u32; 4]]) -> anyhow::Result<Vec<[u32; 4]>> {
    let loads: String =
        (0..4).map(|i| format!("ld.global.u32 %i{i}, [%rd1+{}]; mov.b32 %f{i}, %i{i};\n", 4 * i)).collect();
    let ptx = format!(
        ".version 8.0\n.target sm_75\n.address_size 64\n\
         .visible .entry k(.param .u64 image, .param .u64 in, .param .u64 out) {{\n\
         .reg .b32 %i<5>, %r<8>; .reg .f32 %f<5>; .reg .b64 %rd<8>;\n\
         ld.param.u64 %rd0, [image]; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out];\n\
         mov.u32 %r0, %tid.x; mad.wide.u32 %rd1, %r0, 16, %rd1; mad.wide.u32 %rd2, %r0, 16, %rd2;\n\
         {loads}{body}\nst.global.v4.u32 [%rd2], {{%r1, %r2, %r3, %r4}}; ret; }}\n"
    );
    let module = Module::from_ptx(ptx, &[])?;
    let function = module.get_function("k")?;
    let from = DeviceBuffer::from_slice(&inputs.concat())?;
    let to = DeviceBuffer::from_slice(&vec![0u32; 4 * inputs.len()])?;
    let stream = device.stream();
    // SAFETY: each thread has four words in both buffers.
    unsafe {
        cust::launch!(function<<<1, inputs.len() as u32, 0, stream>>>(
            handle,
            from.as_device_ptr(),
            to.as_device_ptr()
        ))?;
    }
    device.synchronize()?;
    let mut words = vec![0; 4 * inputs.len()];
    to.copy_to(&mut words)?;
    Ok(words.chunks(4).map(|words| [words[0], words[1], words[2], words[3]]).collect())
}

/// An array whose elements are 0, 1, 2 … row by row.
struct Array(sys::CUarray);

impl Array {
    fn new(
        format: sys::CUarray_format,
        channels: u32,
        extents: [usize; 3],
        flags: u32,
    ) -> anyhow::Result<Self> {
        let [width, height, depth] = extents;
        let described = sys::CUDA_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Depth: depth,
            Format: format,
            NumChannels: channels,
            Flags: flags,
        };
        let mut array = Self(std::ptr::null_mut());
        // SAFETY: both are alive during the call.
        check("make an array", unsafe { sys::cuArray3DCreate_v2(&mut array.0, &described) })?;
        let elements = width * height.max(1) * depth.max(1);
        let content: Vec<u8> = match format {
            F32 => (0..elements).flat_map(|i| (i as f32).to_le_bytes()).collect(),
            _ => (0..elements * channels as usize).map(|i| i as u8).collect(),
        };
        let row = content.len() / (height.max(1) * depth.max(1));
        let (lines, slices) = (height.max(1), depth.max(1));
        let copy = sys::CUDA_MEMCPY3D {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_HOST,
            srcHost: content.as_ptr().cast(),
            srcDevice: 0,
            srcArray: std::ptr::null_mut(),
            reserved0: std::ptr::null_mut(),
            srcPitch: row,
            srcHeight: lines,
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: sys::CUmemorytype::CU_MEMORYTYPE_ARRAY,
            dstHost: std::ptr::null_mut(),
            dstDevice: 0,
            dstArray: array.0,
            reserved1: std::ptr::null_mut(),
            dstPitch: 0,
            dstHeight: 0,
            WidthInBytes: row,
            Height: lines,
            Depth: slices,
        };
        // SAFETY: the array has the extents that are copied, and so has the content.
        check("fill the array", unsafe { sys::cuMemcpy3D_v2(&copy) })?;
        Ok(array)
    }

    fn resource(&self) -> sys::CUDA_RESOURCE_DESC {
        // SAFETY: all zeros are a valid description of an array, but for the array.
        let mut resource: sys::CUDA_RESOURCE_DESC = unsafe { std::mem::zeroed() };
        resource.resType = sys::CUresourcetype::CU_RESOURCE_TYPE_ARRAY;
        resource.res.array.hArray = self.0;
        resource
    }

    fn texture(&self, mode: Mode, flags: u32) -> anyhow::Result<u64> {
        // SAFETY: all zeros are a valid description.
        let mut described: sys::CUDA_TEXTURE_DESC = unsafe { std::mem::zeroed() };
        described.addressMode = [mode; 3];
        described.flags = flags;
        described.borderColor = [BORDER_COLOUR; 4];
        let (mut texture, resource) = (0, self.resource());
        let made =
            // SAFETY: all are alive during the call.
            unsafe { sys::cuTexObjectCreate(&mut texture, &resource, &described, std::ptr::null()) };
        check("make a texture", made)?;
        Ok(texture)
    }

    fn surface(&self) -> anyhow::Result<u64> {
        let (mut surface, resource) = (0, self.resource());
        // SAFETY: both are alive during the call.
        check("make a surface", unsafe { sys::cuSurfObjectCreate(&mut surface, &resource) })?;
        Ok(surface)
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: nothing runs any more; textures and surfaces of it are not used afterwards.
        unsafe { sys::cuArrayDestroy(self.0) };
    }
}

fn check(doing: &str, code: sys::CUresult) -> anyhow::Result<()> {
    ensure!(code == sys::cudaError_enum::CUDA_SUCCESS, "cannot {doing}: {code:?}");
    Ok(())
}
