//! Where a kernel's data can live, shown by one polynomial whose four coefficients come from each place in turn.
//!
//! | space | seen by | lives for | here |
//! | --- | --- | --- | --- |
//! | parameter, register | a thread | the kernel | passed by value |
//! | local (off chip) | a thread | the kernel | an array indexed at run time |
//! | shared (on chip) | a block | the block | filled by the first threads |
//! | global | grid and host | until the host frees it | a buffer |
//! | global static | grid and host | the module | [`GLOBAL_COEFFICIENTS`] |
//! | constant (cached, read only) | grid and host | the module | [`CONSTANT_COEFFICIENTS`] |
//!
//! The statics are set by the host through `Module::get_global`.

use core::mem::MaybeUninit;

use cuda_std::prelude::*;
use cuda_std::{address_space, shared_array};

listed! {
   spaces_parameter spaces_local spaces_shared spaces_global spaces_global_static spaces_constant spaces_leave spaces_find
}

/// Coefficients of a cubic polynomial, lowest power first.
pub type Coefficients = [f32; 4];

/// Coefficients in global memory, for the life of the module.
#[address_space(global)]
#[unsafe(no_mangle)]
pub static mut GLOBAL_COEFFICIENTS: Coefficients = [0.0; 4];

/// Coefficients in constant memory, for the life of the module.
#[address_space(constant)]
#[unsafe(no_mangle)]
pub static mut CONSTANT_COEFFICIENTS: Coefficients = [0.0; 4];

/// One element of each block, for other blocks of a later launch to read.
#[address_space(global)]
#[unsafe(no_mangle)]
pub static mut LEFT_BEHIND: [u32; 64] = [0; 64];

#[inline(always)]
fn polynomial(x: f32, coefficient: impl Fn(usize) -> f32) -> f32 {
    let mut value = coefficient(3);
    for power in [2, 1, 0] {
        value = value * x + coefficient(power);
    }
    value
}

#[inline(always)]
fn index() -> usize {
    thread::index_1d() as usize
}

/// The polynomial of this thread's element.
///
/// # Safety
/// `y` holds as many elements as `x`.
#[inline(always)]
unsafe fn evaluate(x: &[f32], y: *mut f32, coefficient: impl Fn(usize) -> f32) {
    let i = index();
    if i < x.len() {
        // SAFETY: i < x.len().
        unsafe { *y.add(i) = polynomial(x[i], coefficient) };
    }
}

/// Coefficients passed by value: read from parameter space, kept in registers.
///
/// # Safety
/// `y` holds as many elements as `x`.
#[kernel]
pub unsafe fn spaces_parameter(c: Coefficients, x: &[f32], y: *mut f32) {
    // SAFETY: the contract.
    unsafe { evaluate(x, y, |power| c[power]) };
}

/// Coefficients in an array that is indexed by a number known only at run time: it cannot be in registers, so each
/// thread's copy is in local memory.
///
/// # Safety
/// `y` holds as many elements as `x`.
#[kernel]
pub unsafe fn spaces_local(c: &[f32], first: u32, x: &[f32], y: *mut f32) {
    let i = index();
    if i < x.len() {
        let mut rotated: [MaybeUninit<f32>; 4] = [MaybeUninit::uninit(); 4];
        // SAFETY: the mask keeps indices below 4, and the loop writes all four before one is read.
        unsafe {
            for power in 0..4 {
                let place = (power + first as usize) & 3;
                (&raw mut rotated[place]).write_volatile(MaybeUninit::new(*c.get_unchecked(power)));
            }
            let value = polynomial(x[i], |power| {
                (&raw const rotated[(power + first as usize) & 3]).read_volatile().assume_init()
            });
            *y.add(i) = value;
        }
    }
}

/// Coefficients that the block's first threads put into shared memory.
///
/// # Safety
/// `c` holds 4 elements, `y` as many as `x`; blocks have at least 4 threads.
#[kernel]
pub unsafe fn spaces_shared(c: &[f32], x: &[f32], y: *mut f32) {
    let shared = shared_array![f32; 4];
    let thread = thread::thread_idx_x() as usize;
    // SAFETY: four elements; a barrier parts stores from loads.
    unsafe {
        if thread < 4 {
            *shared.add(thread) = *c.get_unchecked(thread);
        }
        thread::sync_threads();
        evaluate(x, y, |power| *shared.add(power));
    }
}

/// Coefficients in a buffer in global memory.
///
/// # Safety
/// `c` holds 4 elements, `y` as many as `x`.
#[kernel]
pub unsafe fn spaces_global(c: &[f32], x: &[f32], y: *mut f32) {
    // SAFETY: the contract; power < 4.
    unsafe { evaluate(x, y, |power| *c.get_unchecked(power)) };
}

/// Coefficients in a static in global memory.
///
/// # Safety
/// `y` holds as many elements as `x`.
#[kernel]
pub unsafe fn spaces_global_static(x: &[f32], y: *mut f32) {
    let c = &raw const GLOBAL_COEFFICIENTS;
    // SAFETY: the contract; the host sets the static before the launch, and no kernel writes it.
    unsafe { evaluate(x, y, |power| (*c)[power]) };
}

/// Coefficients in a static in constant memory: one read serves all lanes that ask for the same word.
///
/// # Safety
/// `y` holds as many elements as `x`.
#[kernel]
pub unsafe fn spaces_constant(x: &[f32], y: *mut f32) {
    let c = &raw const CONSTANT_COEFFICIENTS;
    // SAFETY: the contract; the host sets the static before the launch, and no kernel can write it.
    unsafe { evaluate(x, y, |power| (*c)[power]) };
}

/// Scope, first launch: every block writes its number into its own shared word and into a global static.
///
/// # Safety
/// At most 64 blocks; `seen` holds one element a block.
#[kernel]
pub unsafe fn spaces_leave(seen: *mut u32) {
    let shared = shared_array![u32; 1];
    let block = thread::block_idx_x();
    // SAFETY: one thread of each block writes that block's elements; a barrier parts the store from the load.
    unsafe {
        if thread::thread_idx_x() == 0 {
            *shared = block + 100;
            (&raw mut LEFT_BEHIND[block as usize]).write(block + 1000);
        }
        thread::sync_threads();
        // The last thread of the block sees what its first one wrote, and never another block's word.
        if thread::thread_idx_x() == thread::block_dim_x() - 1 {
            *seen.add(block as usize) = *shared;
        }
    }
}

/// Lifetime, second launch: every block reads what another block left in the global static in the launch before.
///
/// # Safety
/// As for [`spaces_leave`](fn@spaces_leave), launched before this with as many blocks.
#[kernel]
pub unsafe fn spaces_find(seen: *mut u32) {
    let block = thread::block_idx_x();
    let other = thread::grid_dim_x() - 1 - block;
    if thread::thread_idx_x() == 0 {
        // SAFETY: one thread of each block writes that block's element; no thread writes the static now.
        unsafe { *seen.add(block as usize) = (&raw const LEFT_BEHIND[other as usize]).read() };
    }
}
