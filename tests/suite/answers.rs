//! What the virtual driver took from documents, and a real one answers, too.

use cust::error::CudaError;
use cust::module::Module;
use cust::sys;

use crate::Case;

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        Case::new("answers::a_pool_cannot_be_taken_from_its_own_device", |_| {
            // SAFETY: all zeros are a valid description of a pool, with what follows.
            let mut described: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
            described.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
            described.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
            let mut pool = std::ptr::null_mut();
            // SAFETY: both are alive during the call.
            let made = unsafe { sys::cuMemPoolCreate(&mut pool, &described) };
            anyhow::ensure!(made == sys::cudaError_enum::CUDA_SUCCESS, "no pool: {made:?}");
            let answer = |flags| {
                let access = sys::CUmemAccessDesc { location: described.location, flags };
                // SAFETY: one description is passed.
                unsafe { sys::cuMemPoolSetAccess(pool, &access, 1) }
            };
            use sys::CUmemAccess_flags::*;
            let answers = [
                CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
                CU_MEM_ACCESS_FLAGS_PROT_READ,
                CU_MEM_ACCESS_FLAGS_PROT_NONE,
            ]
            .map(answer);
            // SAFETY: the pool was made above, and nothing is in it.
            unsafe { sys::cuMemPoolDestroy(pool) };
            use sys::cudaError_enum::*;
            let expected = [CUDA_SUCCESS, CUDA_ERROR_NOT_SUPPORTED, CUDA_ERROR_INVALID_DEVICE];
            anyhow::ensure!(answers == expected, "{answers:?}");
            Ok(())
        }),
        // Stochastic rounding is for 10.0 alone: neither a module for another target has it, nor a chip of one.
        Case::new("answers::stochastic_rounding_is_not_for_other_chips", |device| {
            let load = |target: &str| {
                let ptx = format!(
                    ".version 8.7\n.target {target}\n.address_size 64\n.visible .entry k() {{\n\
                     .reg .b32 %r<3>; .reg .f32 %f<3>;\ncvt.rs.f16x2.f32 %r1, %f1, %f2, %r2;\nret; }}\n"
                );
                Module::from_ptx(ptx, &[]).err()
            };
            let own = load("sm_75");
            anyhow::ensure!(own == Some(CudaError::InvalidPtx), "for sm_75: {own:?}");
            if device.limits().capability != (10, 0) {
                let other = load("sm_100a");
                anyhow::ensure!(other.is_some(), "for sm_100a: {other:?}");
            }
            Ok(())
        }),
    ]
}
