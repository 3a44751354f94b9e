//! The accesses of the product, as PTX: each stays what it is and where it is.
//!
//! Written as ordinary loads, LLVM merges some into the next loop's head and splits others into scalars. Offsets are
//! macros' constants, so that they become part of the instruction and take no slot of their own.

/// Loads 16 bytes of shared memory.
macro_rules! load_shared_4 {
    ($address:expr, $offset:expr) => {{
        let (a, b, c, d): (f32, f32, f32, f32);
        cuda_std::ptx!("ld.shared.v4.f32 {{{a}, {b}, {c}, {d}}}, [{address}+{offset}];",
            a = out(f32) a, b = out(f32) b, c = out(f32) c, d = out(f32) d,
            address = in(u32) $address, offset = imm($offset));
        [a, b, c, d]
    }};
}

/// Stores 4 bytes to shared memory.
macro_rules! store_shared {
    ($address:expr, $offset:expr, $value:expr) => {
        cuda_std::ptx!("st.shared.f32 [{address}+{offset}], {value};",
            address = in(u32) $address, offset = imm($offset), value = in(f32) $value)
    };
}

/// Loads 16 bytes that are not written while the kernel runs.
macro_rules! load_global_4 {
    ($address:expr, $offset:expr) => {{
        let (a, b, c, d): (f32, f32, f32, f32);
        cuda_std::ptx!("ld.global.nc.L2::128B.v4.f32 {{{a}, {b}, {c}, {d}}}, [{address}+{offset}];",
            a = out(f32) a, b = out(f32) b, c = out(f32) c, d = out(f32) d,
            address = in(ptr) $address, offset = imm($offset));
        [a, b, c, d]
    }};
}

/// Loads 4 bytes that are not written while the kernel runs.
macro_rules! load_global {
    ($address:expr, $offset:expr) => {{
        let value: f32;
        cuda_std::ptx!("ld.global.nc.f32 {value}, [{address}+{offset}];",
            value = out(f32) value, address = in(ptr) $address, offset = imm($offset));
        value
    }};
}

/// Starts to copy 16 bytes to shared memory, past L1.
macro_rules! copy_16 {
    ($to:expr, $offset:expr, $from:expr) => {
        cuda_std::ptx!("cp.async.cg.shared.global.L2::128B [{to}+{offset}], [{from}], 16;",
            to = in(u32) $to, offset = imm($offset), from = in(ptr) $from)
    };
    // The first `$size` bytes, zeros after them.
    ($to:expr, $offset:expr, $from:expr, $size:expr) => {
        cuda_std::ptx!("cp.async.cg.shared.global.L2::128B [{to}+{offset}], [{from}], 16, {size};",
            to = in(u32) $to, offset = imm($offset), from = in(ptr) $from, size = in(u32) $size)
    };
}

/// Starts to copy 4 bytes to shared memory.
macro_rules! copy_4 {
    ($to:expr, $offset:expr, $from:expr) => {
        cuda_std::ptx!("cp.async.ca.shared.global [{to}+{offset}], [{from}], 4;",
            to = in(u32) $to, offset = imm($offset), from = in(ptr) $from)
    };
    ($to:expr, $offset:expr, $from:expr, $size:expr) => {
        cuda_std::ptx!("cp.async.ca.shared.global [{to}+{offset}], [{from}], 4, {size};",
            to = in(u32) $to, offset = imm($offset), from = in(ptr) $from, size = in(u32) $size)
    };
}

pub(crate) use {copy_4, copy_16};
pub(crate) use {load_global, load_global_4, load_shared_4, store_shared};
