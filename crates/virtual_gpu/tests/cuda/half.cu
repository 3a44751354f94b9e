// Half precision through the header's functions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void halves(const unsigned *a, const unsigned *b, const unsigned *c, unsigned *out) {
    int t = threadIdx.x;
    __half2 x = ((const __half2 *)a)[t], y = ((const __half2 *)b)[t], z = ((const __half2 *)c)[t];
    __half2 *o = (__half2 *)out + t * 8;
    o[0] = __hadd2_rn(x, y);
    o[1] = __hmul2_rn(x, y);
    o[2] = __hfma2(x, y, z);
    o[3] = __hfma2_relu(x, y, z);
    o[4] = __hmin2(x, y);
    o[5] = __hmax2_nan(x, y);
    o[6] = __floats2half2_rn(__low2float(x) * 3.0f, __high2float(y));
    o[7] = __hsub2_rn(x, __hneg2(__habs2(y)));
}

extern "C" __global__ void brains(const unsigned *a, const unsigned *b, const unsigned *c, unsigned *out) {
    int t = threadIdx.x;
    __nv_bfloat162 x = ((const __nv_bfloat162 *)a)[t], y = ((const __nv_bfloat162 *)b)[t], z = ((const __nv_bfloat162 *)c)[t];
    __nv_bfloat162 *o = (__nv_bfloat162 *)out + t * 8;
    o[0] = __hadd2_rn(x, y);
    o[1] = __hmul2_rn(x, y);
    o[2] = __hfma2(x, y, z);
    o[3] = __hfma2_relu(x, y, z);
    o[4] = __hmin2(x, y);
    o[5] = __hmax2_nan(x, y);
    o[6] = __floats2bfloat162_rn(__low2float(x) * 3.0f, __high2float(y));
    o[7] = __hsub2_rn(x, __hneg2(__habs2(y)));
}
