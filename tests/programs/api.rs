//! The driver's calls that programs make, each of which must succeed.

use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

use warpsmith_cuda::abi::{
    CUDA_RESOURCE_DESC, CUDA_TEXTURE_DESC, CUmemAccessDesc, CUmemAllocationProp, CUmemLocation, CUresult, In,
    Out, Text,
};
use warpsmith_cuda::entry::contexts::*;
use warpsmith_cuda::entry::graphs::*;
use warpsmith_cuda::entry::memory::*;
use warpsmith_cuda::entry::modules::*;
use warpsmith_cuda::entry::streams::*;
use warpsmith_cuda::entry::textures::*;
use warpsmith_cuda::{DevicePreference, choose};

pub const PAGE: u64 = 2 << 20;
const HERE: CUmemLocation = CUmemLocation { r#type: 1, id: 0 };
const MEMORY: CUmemAllocationProp = CUmemAllocationProp {
    r#type: 1,
    requestedHandleTypes: 0,
    location: HERE,
    win32HandleMetaData: null_mut(),
    compressionType: 0,
    gpuDirectRDMACapable: 0,
    usage: 0,
    reserved: [0; 4],
};
const OPEN: CUmemAccessDesc = CUmemAccessDesc { location: HERE, flags: 3 };
/// `CU_LIMIT_MALLOC_HEAP_SIZE`
const HEAP: u32 = 2;

fn out<T>(place: &mut T) -> Out<T> {
    // SAFETY: a reference is a valid place, and each call below ends before it does.
    unsafe { Out::new(place) }
}

fn given<T: Copy>(value: &T) -> In<T> {
    // SAFETY: as above.
    unsafe { In::new(value) }
}

#[track_caller]
fn ok(code: CUresult) {
    assert_eq!(code, CUresult::SUCCESS);
}

/// Makes calls that must succeed, and are allowed to fail in no other way.
macro_rules! call {
    ($($call:expr),+ $(,)?) => {{
        // SAFETY: all places are references, texts end with NUL, and memory is the caller's own, of the size that it says.
        unsafe { $(ok($call);)+ }
    }};
}

pub fn start() {
    choose(Some(DevicePreference::Virtual), Some("h200")).unwrap();
    call!(cuInit(0));
}

/// A new context, which is no thread's.
pub fn context() -> usize {
    let (mut context, mut popped) = (0, 0);
    call!(
        cuCtxCreate_v2(out(&mut context), 0, 0),
        cuCtxSetLimit(HEAP, 512 << 20),
        cuCtxPopCurrent_v2(out(&mut popped)),
    );
    context
}

pub fn destroy(context: usize) {
    call!(cuCtxDestroy_v2(context));
}

pub fn make_current(context: usize) {
    call!(cuCtxSetCurrent(context));
}

pub fn module(text: &str) -> usize {
    let (mut module, text) = (0, CString::new(text).unwrap());
    call!(cuModuleLoadData(out(&mut module), text.as_ptr().cast()));
    module
}

pub fn unload(module: usize) {
    call!(cuModuleUnload(module));
}

pub fn function(module: usize, name: &str) -> usize {
    let (mut function, name) = (0, CString::new(name).unwrap());
    call!(cuModuleGetFunction(out(&mut function), module, Text::new(name.as_ptr())));
    function
}

pub fn stream() -> usize {
    let mut stream = 0;
    call!(cuStreamCreate(out(&mut stream), 1));
    stream
}

pub fn end_stream(stream: usize) {
    call!(cuStreamDestroy_v2(stream));
}

#[track_caller]
pub fn synchronize(stream: usize) {
    call!(cuStreamSynchronize(stream));
}

/// Launches a kernel whose parameters have 8 bytes each.
pub fn launch(function: usize, blocks: u32, threads: u32, stream: usize, words: &[u64]) {
    let mut words = words.to_vec();
    let params: Vec<*mut c_void> = words.iter_mut().map(|word| (word as *mut u64).cast()).collect();
    // SAFETY: the parameters live until the call returns; null is allowed.
    let (params, none) = unsafe { (In::new(params.as_ptr()), In::new(null())) };
    call!(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, params, none));
}

pub fn alloc(bytes: u64) -> u64 {
    let mut address = 0;
    call!(cuMemAlloc_v2(out(&mut address), bytes as usize));
    address
}

pub fn free(address: u64) {
    call!(cuMemFree_v2(address));
}

pub fn alloc_async(bytes: u64, stream: usize) -> u64 {
    let mut address = 0;
    call!(cuMemAllocAsync(out(&mut address), bytes as usize, stream));
    address
}

pub fn free_async(address: u64, stream: usize) {
    call!(cuMemFreeAsync(address, stream));
}

/// Pinned words.
pub fn pinned(words: usize) -> *mut u32 {
    let mut place = null_mut();
    call!(cuMemAllocHost_v2(out(&mut place), words * 4));
    place.cast()
}

pub fn unpin(place: *mut u32) {
    call!(cuMemFreeHost(place.cast()));
}

pub fn register(words: &mut [u32]) {
    call!(cuMemHostRegister_v2(words.as_mut_ptr().cast(), size_of_val(words), 0));
}

pub fn unregister(words: &mut [u32]) {
    call!(cuMemHostUnregister(words.as_mut_ptr().cast()));
}

pub fn write(address: u64, words: &[u32], stream: usize) {
    call!(cuMemcpyHtoDAsync_v2(address, words.as_ptr().cast(), size_of_val(words), stream));
}

pub fn read(address: u64, count: usize, stream: usize) -> Vec<u32> {
    let mut words = vec![0; count];
    call!(
        cuMemcpyDtoHAsync_v2(words.as_mut_ptr().cast(), address, count * 4, stream),
        cuStreamSynchronize(stream),
    );
    words
}

pub fn copy(to: u64, from: u64, words: u64, stream: usize) {
    call!(cuMemcpyDtoDAsync_v2(to, from, 4 * words as usize, stream));
}

pub fn fill(address: u64, word: u32, count: u64, stream: usize) {
    call!(cuMemsetD32Async(address, word, count as usize, stream));
}

pub fn reserve(pages: u64) -> u64 {
    let mut address = 0;
    call!(cuMemAddressReserve(out(&mut address), (pages * PAGE) as usize, 0, 0, 0));
    address
}

pub fn release(address: u64, pages: u64) {
    call!(cuMemAddressFree(address, (pages * PAGE) as usize));
}

/// Lets addresses reach new memory.
pub fn map(address: u64, pages: u64) {
    let mut memory = 0;
    let size = (pages * PAGE) as usize;
    call!(
        cuMemCreate(out(&mut memory), size, given(&MEMORY), 0),
        cuMemMap(address, size, 0, memory, 0),
        cuMemRelease(memory),
        cuMemSetAccess(address, size, given(&OPEN), 1),
    );
}

pub fn unmap(address: u64, pages: u64) {
    call!(cuMemUnmap(address, (pages * PAGE) as usize));
}

/// A texture of single words over plain memory: a line, or rows of a pitch.
pub fn texture(address: u64, [width, height, pitch]: [u64; 3]) -> u64 {
    // One channel of 32 bits without a sign.
    let format = 1 << 32 | 0x03;
    let (kind, words) = match height {
        0 => (2, vec![address, format, width * 4]),
        _ => (3, vec![address, format, width, height, pitch]),
    };
    let mut res = [0; 16];
    res[..words.len()].copy_from_slice(&words);
    let resource = CUDA_RESOURCE_DESC { resType: kind, res, flags: 0 };
    let sampler = CUDA_TEXTURE_DESC {
        addressMode: [1; 3],
        filterMode: 0,
        flags: 1,
        maxAnisotropy: 0,
        mipmapFilterMode: 0,
        mipmapLevelBias: 0.0,
        minMipmapLevelClamp: 0.0,
        maxMipmapLevelClamp: 0.0,
        borderColor: [0.0; 4],
        reserved: [0; 12],
    };
    let mut texture = 0;
    // SAFETY: null is allowed.
    let none = unsafe { In::new(null()) };
    call!(cuTexObjectCreate(out(&mut texture), given(&resource), given(&sampler), none));
    texture
}

pub fn end_texture(texture: u64) {
    call!(cuTexObjectDestroy(texture));
}

/// What is issued on a stream meanwhile becomes a graph, which runs so often.
pub fn as_graph(stream: usize, runs: u64, issue: impl FnOnce()) {
    const THREAD: u32 = 1;
    let (mut graph, mut executable) = (0, 0);
    call!(cuStreamBeginCapture_v2(stream, THREAD));
    issue();
    call!(
        cuStreamEndCapture(stream, out(&mut graph)),
        cuGraphInstantiateWithFlags(out(&mut executable), graph, 0),
    );
    for _ in 0..runs {
        call!(cuGraphLaunch(executable, stream));
    }
    call!(cuGraphExecDestroy(executable), cuGraphDestroy(graph));
}
