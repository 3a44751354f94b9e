//! The parameter block of a launch, from an array of pointers or from a buffer laid out by the program.
//!
//! The array does not say how long it is, nor what its pointers point at: `cust::launch!` with an argument too few leaves a
//! uninitialised pointer. So what can be told from the pointers is tested, and values are read in a way that cannot fault.

use std::ffi::c_void;

use virtual_gpu::Kernel;

use crate::abi::{Answer, CUresult, In};
use crate::objects::explain::refused;

pub fn gather(kernel: &Kernel, params: In<*mut c_void>, extra: In<*mut c_void>) -> Answer<Vec<u8>> {
    let mut block = vec![0; kernel.param_bytes()];
    match (params.is_null(), extra.is_null()) {
        (false, false) => return Err(CUresult::INVALID_VALUE),
        (true, true) if kernel.params().is_empty() => {}
        (true, true) => return Err(unfit(kernel, 0, "the launch gives none")),
        (false, true) => from_pointers(kernel, params, &mut block)?,
        (true, false) => {
            let given = extra_buffer(extra)?;
            let used = kernel.params().last().map_or(0, |last| (last.offset + last.size) as usize);
            if given.len() < used {
                return Err(refused(CUresult::INVALID_VALUE, || {
                    let (name, given) = (ptx::rust_name(kernel.name()), given.len());
                    format!("`{name}` takes {used} bytes of parameters, and the launch's buffer has {given}")
                }));
            }
            let length = given.len().min(block.len());
            block[..length].copy_from_slice(&given[..length]);
        }
    }
    Ok(block)
}

/// A value in the program's memory.
#[derive(Clone, Copy)]
struct Value {
    address: usize,
    bytes: usize,
}

impl Value {
    fn holds(self, address: usize) -> bool {
        (self.address..self.address + self.bytes).contains(&address)
    }

    /// Whether it can be one scalar, which no compiler places across another one.
    fn is_scalar(self) -> bool {
        matches!(self.bytes, 2 | 4 | 8)
    }
}

fn from_pointers(kernel: &Kernel, params: In<*mut c_void>, block: &mut [u8]) -> Answer {
    let mut values: Vec<Value> = Vec::with_capacity(kernel.params().len());
    for (index, param) in kernel.params().iter().enumerate() {
        let slot = params.as_ptr() as usize + index * size_of::<*mut c_void>();
        if values.iter().any(|value| value.holds(slot)) {
            return Err(unfit(kernel, index, "there the array of arguments has ended"));
        }
        let bytes = param.size as usize;
        let value = Value { address: params.at(index) as usize, bytes };
        if value.address == 0 && bytes > 0 {
            return Err(unfit(kernel, index, "its argument is a null pointer"));
        }
        values.push(value);
    }
    for (index, value) in values.iter().enumerate().filter(|(_, value)| value.is_scalar()) {
        let inside = |other: &Value| other.address != value.address && value.holds(other.address);
        if let Some(other) = values.iter().position(inside) {
            let why = format!("its argument is smaller: argument {other} begins in the middle of it");
            return Err(unfit(kernel, index, &why));
        }
    }
    for (index, (value, param)) in values.iter().zip(kernel.params()).enumerate() {
        let natural = value.is_scalar() && param.align == param.size;
        if natural && !value.address.is_multiple_of(value.bytes) {
            return Err(unfit(kernel, index, "its argument is none of that size, or was left out"));
        }
    }
    let mut bytes = vec![0; values.iter().map(|value| value.bytes).sum()];
    read(&values, &mut bytes)
        .map_err(|index| unfit(kernel, index, "its argument points at no memory, or was left out"))?;
    let mut rest = &bytes[..];
    for param in kernel.params() {
        let (value, others) = rest.split_at(param.size as usize);
        block[param.offset as usize..][..value.len()].copy_from_slice(value);
        rest = others;
    }
    Ok(())
}

/// Says which parameter has no value, and how many there are.
fn unfit(kernel: &Kernel, index: usize, why: &str) -> CUresult {
    refused(CUresult::INVALID_VALUE, || {
        let params = kernel.params();
        let parameter = params.get(index).map_or(String::new(), |param| {
            format!(": parameter {index}, `{}`, has {} bytes, and {why}", param.name, param.size)
        });
        let sizes: Vec<String> = params.iter().map(|param| param.size.to_string()).collect();
        format!(
            "the arguments of the launch do not fit `{}`{parameter}. It takes {} arguments, of {} bytes; a slice is two, its \
             pointer and its length",
            ptx::rust_name(kernel.name()),
            params.len(),
            sizes.join(", ")
        )
    })
}

/// Copies the values one after the other to `bytes`, or says which is the first that is missing.
fn read(values: &[Value], bytes: &mut [u8]) -> Result<(), usize> {
    #[cfg(target_os = "linux")]
    if let Some(copied) = through_the_system(values, bytes) {
        let ends = values.iter().scan(0, |end, value| {
            *end += value.bytes;
            Some(*end)
        });
        return ends.enumerate().find(|(_, end)| *end > copied).map_or(Ok(()), |(index, _)| Err(index));
    }
    let mut rest = bytes;
    for value in values {
        let (place, others) = rest.split_at_mut(value.bytes);
        if !place.is_empty() {
            // SAFETY: the caller of the launch vouches for one value for each parameter, of its size.
            place.copy_from_slice(unsafe {
                std::slice::from_raw_parts(value.address as *const u8, value.bytes)
            });
        }
        rest = others;
    }
    Ok(())
}

/// Has the system copy them, which reports unmapped memory: how many bytes, or `None` if it does not support that.
#[cfg(target_os = "linux")]
fn through_the_system(values: &[Value], bytes: &mut [u8]) -> Option<usize> {
    /// How much the system accepts in one call.
    const MOST: usize = 1024;
    if bytes.is_empty() || values.len() > MOST {
        return None;
    }
    let place = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    let from = |value: &Value| libc::iovec { iov_base: value.address as *mut c_void, iov_len: value.bytes };
    let from: Vec<libc::iovec> = values.iter().map(from).collect();
    // SAFETY: the system checks what it reads, and writes only to `bytes`.
    let copied = unsafe {
        libc::process_vm_readv(libc::getpid(), &place, 1, from.as_ptr(), from.len() as libc::c_ulong, 0)
    };
    match usize::try_from(copied) {
        Ok(copied) => Some(copied),
        Err(_) if std::io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT) => Some(0),
        // A container may forbid the call.
        Err(_) => None,
    }
}

/// The buffer of `CU_LAUNCH_PARAM_BUFFER_POINTER` and `CU_LAUNCH_PARAM_BUFFER_SIZE`.
fn extra_buffer<'a>(extra: In<*mut c_void>) -> Answer<&'a [u8]> {
    const END: usize = 0;
    const POINTER: usize = 1;
    const SIZE: usize = 2;
    const MOST: usize = 16;
    let (mut pointer, mut size) = (std::ptr::null::<u8>(), 0);
    for index in (0..MOST).step_by(2) {
        match extra.at(index) as usize {
            END => {
                if pointer.is_null() && size != 0 {
                    break;
                }
                if size == 0 {
                    return Ok(&[]);
                }
                // SAFETY: the caller of the launch vouches for a buffer of the size that it gave.
                return Ok(unsafe { std::slice::from_raw_parts(pointer, size) });
            }
            POINTER => pointer = extra.at(index + 1).cast_const().cast(),
            SIZE => {
                // SAFETY: this option's value points at a `size_t`.
                let place = unsafe { In::<usize>::new(extra.at(index + 1).cast_const().cast()) };
                size = place.get()?;
            }
            _ => break,
        }
    }
    Err(CUresult::INVALID_VALUE)
}
