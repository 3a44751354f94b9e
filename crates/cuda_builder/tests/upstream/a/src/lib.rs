extern crate alloc;

mod saxpy;
pub use crate::saxpy::saxpy;

use cuda_std::address_space;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use cuda_std::prelude::*;

#[derive(Copy, Clone)]
pub struct ViewPort {
    pub bounds: [usize; 2],
}

#[kernel]
#[allow(improper_ctypes_definitions, clippy::missing_safety_doc)]
pub unsafe fn vecadd(a: &[f32], b: &[f32], c: *mut f32) {
    let idx = thread::index_1d() as usize;
    if idx < a.len() {
        let elem = &mut *c.add(idx);
        *elem = a[idx] + b[idx];
    }
}

pub const TILE_SIZE: usize = 16;

#[kernel]
#[allow(improper_ctypes_definitions)]
pub unsafe fn gemm_tiled(mat_a: &[f32], mat_b: &[f32], mat_c: *mut f32, m: usize, n: usize, k: usize, alpha: f32, beta: f32) {
    const TILE_SIZE_2D: usize = TILE_SIZE * TILE_SIZE;

    #[address_space(shared)]
    static mut TILE_A: [f32; TILE_SIZE_2D] = [0.; TILE_SIZE_2D];
    #[address_space(shared)]
    static mut TILE_B: [f32; TILE_SIZE_2D] = [0.; TILE_SIZE_2D];

    let tx = thread::thread_idx_x() as usize;
    let ty = thread::thread_idx_y() as usize;
    let row = thread::block_idx_x() as usize * TILE_SIZE + ty;
    let col = thread::block_idx_y() as usize * TILE_SIZE + tx;

    let mut sum = 0.0f32;
    for kk in (0..k).step_by(TILE_SIZE) {
        TILE_A[ty * TILE_SIZE + tx] = if row < m && (kk + tx) < k { mat_a[row * k + (kk + tx)] } else { 0. };
        TILE_B[ty * TILE_SIZE + tx] = if col < n && (kk + ty) < k { mat_b[(kk + ty) * n + col] } else { 0. };
        thread::sync_threads();
        for i in 0..TILE_SIZE {
            sum += TILE_A[ty * TILE_SIZE + i] * TILE_B[i * TILE_SIZE + tx];
        }
        thread::sync_threads();
    }
    if row < m && col < n {
        let c = mat_c.add(row * n + col);
        *c = alpha * sum + beta * *c;
    }
}

#[kernel]
pub unsafe extern "C" fn norms(view: ViewPort, vectors: &[cuda_std::glam::Vec3], out: *mut f32) {
    let i = thread::index_2d();
    let at = i.y as usize * view.bounds[0] + i.x as usize;
    if at < vectors.len() {
        *out.add(at) = vectors[at].length().sin() + GpuFloat::sqrt(2.0f32);
    }
}

use cuda_std::GpuFloat;

#[kernel]
pub unsafe fn reversed(data: *mut [f32; 3]) {
    let tile = cuda_std::shared_array![[f32; 3]; 32 * 2];
    let i = thread::thread_idx_x() as usize;
    *tile.add(i) = *data.add(i);
    thread::sync_threads();
    *data.add(i) = *tile.add(63 - i);
    if thread::first() {
        println!("block of {} threads", thread::block_dim().x);
    }
}

/// As upstream's path tracer spells its vectors.
pub type Vec3 = cuda_std::vek::Vec3<f32>;

#[kernel]
pub unsafe fn reflect(rays: &[Vec3], normal: Vec3, out: *mut Vec3) {
    let i = thread::index_1d() as usize;
    if i < rays.len() {
        *out.add(i) = rays[i].normalized().reflected(normal);
    }
}

trait Named {
    fn name(&self) -> alloc::string::String;
}

struct Lane(u32);

impl Named for Lane {
    fn name(&self) -> alloc::string::String {
        alloc::format!("lane {}", self.0)
    }
}

#[kernel]
pub unsafe fn names(out: *mut u8) {
    let named: alloc::boxed::Box<dyn Named> = alloc::boxed::Box::new(Lane(thread::thread_idx_x()));
    let name = named.name();
    core::slice::from_raw_parts_mut(out, name.len()).copy_from_slice(name.as_bytes());
}

/// Borrowed lists in unified memory, the lifetime left out where it is passed.
#[derive(Clone, Copy)]
pub struct Spheres<'a> {
    centres: &'a [Vec3],
}

#[kernel]
pub unsafe fn nearest(spheres: &Spheres, other: Spheres, mut best: f32, (from, scale): (usize, f32), out: *mut f32) {
    for centre in &spheres.centres[from..] {
        best = best.min(cuda_std::float::GpuFloat::sqrt(centre.magnitude_squared()) * scale);
    }
    *out = best + other.centres.len() as f32;
}

/// A static that is shared through a cell instead of `static mut`.
#[kernel]
pub unsafe fn mirrored(out: *mut f32) {
    struct Tile(UnsafeCell<MaybeUninit<[f32; 64]>>);
    unsafe impl Sync for Tile {}
    #[cuda_std::address_space(shared)]
    static TILE: Tile = Tile(UnsafeCell::new(MaybeUninit::uninit()));
    let tile = TILE.0.get().cast::<f32>();
    let i = thread::thread_idx_x() as usize;
    *tile.add(i) = *out.add(i);
    thread::sync_threads();
    *out.add(i) = *tile.add(63 - i);
}

/// Constant memory that holds a pointer to other memory.
#[address_space(constant)]
static ALPHABET: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

/// A list that lies in statics, and a table of closures.
struct Node {
    value: u32,
    next: Option<&'static Node>,
}
static TAIL: Node = Node { value: 3, next: None };
static HEAD: Node = Node { value: 1, next: Some(&Node { value: 2, next: Some(&TAIL) }) };
static OPERATIONS: [fn(u32, u32) -> u32; 2] = [|a, b| a + b, |a, b| a ^ b];

#[kernel]
pub unsafe fn tables(out: *mut u32) {
    let i = thread::index_1d() as usize;
    let (mut node, mut sum) = (Some(&HEAD), ALPHABET[i % 58] as u32);
    while let Some(Node { value, next }) = node {
        sum = OPERATIONS[i % 2](sum, *value);
        node = *next;
    }
    *out.add(i) = sum;
}
