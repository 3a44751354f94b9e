//! A launch by name, the same for our kernel and for its C++ twin.

use std::ffi::c_void;

use cust::error::CudaResult;
use cust::function::Function;
use cust::memory::{DeviceBuffer, DeviceCopy};
use kernels_gpu::gemm::Gemm;
use warpsmith_launch::extra::{Extended, launch_extended};
use warpsmith_launch::{Shape, Stream};

/// An argument. A Rust slice is a pointer and a length, for both compilers.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A 32-bit number.
    U32(u32),
    /// A 32-bit float.
    F32(f32),
    /// A device address.
    Pointer(u64),
    /// A device address and a length in elements.
    Slice(u64, u64),
    /// Extents and factors of a product.
    Gemm(Gemm),
}

impl Value {
    /// A slice argument for a whole buffer.
    pub fn slice<T: DeviceCopy>(buffer: &DeviceBuffer<T>) -> Self {
        Self::Slice(buffer.as_device_ptr().as_raw(), buffer.len() as u64)
    }

    /// A pointer argument.
    pub fn pointer<T: DeviceCopy>(buffer: &DeviceBuffer<T>) -> Self {
        Self::Pointer(buffer.as_device_ptr().as_raw())
    }
}

/// Name, shape and arguments; one list of arguments for each set of buffers, taken in turn.
#[derive(Clone, Debug)]
pub struct Call {
    pub kernel: &'static str,
    /// Grid, block and dynamic shared memory.
    pub shape: Shape,
    /// Launch attributes beside the shape.
    pub extended: Extended,
    /// Arguments by buffer set.
    pub arguments: Vec<Vec<Value>>,
}

impl Call {
    /// A launch that says nothing beyond its shape.
    pub fn new(kernel: &'static str, shape: Shape, arguments: Vec<Vec<Value>>) -> Self {
        Self { kernel, shape, extended: Extended::default(), arguments }
    }

    /// Launches `function`, which has this call's parameters.
    ///
    /// # Safety
    /// The addresses are those of buffers as long as the kernel asks for.
    pub unsafe fn launch(&self, stream: &Stream, function: &Function<'_>, set: usize) -> CudaResult<()> {
        let values = &self.arguments[set % self.arguments.len()];
        let mut pointers: Vec<*mut c_void> = Vec::with_capacity(values.len() * 2);
        for value in values {
            let mut push = |pointer: *const c_void| pointers.push(pointer.cast_mut());
            match value {
                Value::U32(number) => push((&raw const *number).cast()),
                Value::F32(number) => push((&raw const *number).cast()),
                Value::Pointer(address) => push((&raw const *address).cast()),
                Value::Slice(address, len) => {
                    push((&raw const *address).cast());
                    push((&raw const *len).cast());
                }
                Value::Gemm(gemm) => push((&raw const *gemm).cast()),
            }
        }
        let Shape { grid, block, shared } = self.shape;
        if self.extended != Extended::default() {
            // SAFETY: each pointer is to a value of its parameter's size, alive during the call, which copies them.
            return unsafe {
                launch_extended(stream, function, grid, block, shared, self.extended, &mut pointers)
            };
        }
        // SAFETY: as above.
        unsafe { stream.launch(function, tuple(grid), tuple(block), shared, &pointers) }
    }
}

fn tuple([x, y, z]: [u32; 3]) -> (u32, u32, u32) {
    (x, y, z)
}
