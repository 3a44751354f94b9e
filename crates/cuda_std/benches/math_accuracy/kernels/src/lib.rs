//! One kernel for each `f32` function of one argument. It searches `count` inputs, `stride` apart and starting at 0,
//! for the largest error, and leaves the maximum of (error as `f32` bits) · 2³² + (the input's bits) in `worst`.

#[path = "../../../../tests/accuracy/error.rs"]
mod error;

use core::sync::atomic::{AtomicU64, Ordering};
use cuda_std::{intrinsics, kernel, thread};

macro_rules! kernels {
    ($($kernel:ident $single:ident $double:ident;)*) => {$(
        #[kernel]
        pub unsafe fn $kernel(count: u64, stride: u64, worst: *const AtomicU64) {
            let threads = u64::from(thread::grid_dim_x()) * u64::from(thread::block_dim_x());
            let mut index = u64::from(thread::index_1d());
            let mut found = 0;
            while index < count {
                let bits = (index * stride) as u32;
                let x = f32::from_bits(bits);
                let (got, want) = unsafe { (intrinsics::$single(x), intrinsics::$double(f64::from(x))) };
                let error = error::single_error(got, want, 0.0) as f32;
                found = found.max(u64::from(error.to_bits()) << 32 | u64::from(bits));
                index += threads;
            }
            unsafe { (*worst).fetch_max(found, Ordering::Relaxed) };
        }
    )*};
}

kernels! {
    worst_sinf sinf sin;
    worst_cosf cosf cos;
    worst_tanf tanf tan;
    worst_sinpif sinpif sinpi;
    worst_cospif cospif cospi;
    worst_asinf asinf asin;
    worst_acosf acosf acos;
    worst_atanf atanf atan;
    worst_sinhf sinhf sinh;
    worst_coshf coshf cosh;
    worst_tanhf tanhf tanh;
    worst_asinhf asinhf asinh;
    worst_acoshf acoshf acosh;
    worst_atanhf atanhf atanh;
    worst_expf expf exp;
    worst_exp2f exp2f exp2;
    worst_exp10f exp10f exp10;
    worst_expm1f expm1f expm1;
    worst_logf logf log;
    worst_log2f log2f log2;
    worst_log10f log10f log10;
    worst_log1pf log1pf log1p;
    worst_cbrtf cbrtf cbrt;
    worst_rcbrtf rcbrtf rcbrt;
    worst_frsqrt_rn frsqrt_rn rsqrt;
    worst_erff erff erf;
    worst_erfcf erfcf erfc;
    worst_erfcxf erfcxf erfcx;
    worst_normcdff normcdff normcdf;
    worst_tgammaf tgammaf tgamma;
    worst_lgammaf lgammaf lgamma;
    worst_cyl_bessel_i0f cyl_bessel_i0f cyl_bessel_i0;
    worst_cyl_bessel_i1f cyl_bessel_i1f cyl_bessel_i1;
    worst_erfinvf erfinvf erfinv;
    worst_erfcinvf erfcinvf erfcinv;
    worst_normcdfinvf normcdfinvf normcdfinv;
}
