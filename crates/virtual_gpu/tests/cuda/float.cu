// Floating point: what the compiler makes of the mathematical functions, and iterations whose every bit counts.
#include <stdint.h>

// Iterations until escape, in double precision with the fused steps written out.
extern "C" __global__ void mandelbrot(uint32_t *counts, int width, int limit) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double cx = __dadd_rn(__ddiv_rn(__dmul_rn(3.0, i % width), width), -2.25);
    double cy = __dadd_rn(__ddiv_rn(__dmul_rn(2.5, i / width), width), -1.25);
    double x = 0, y = 0;
    int n = 0;
    while (n < limit && __fma_rn(x, x, __dmul_rn(y, y)) < 4) {
        double next = __dadd_rn(__fma_rn(x, x, -__dmul_rn(y, y)), cx);
        y = __fma_rn(__dadd_rn(x, x), y, cy);
        x = next;
        n++;
    }
    counts[i] = n;
}

// Directed roundings, conversions, and bits.
extern "C" __global__ void rounding(const float *a, const float *b, uint32_t *out) {
    int t = threadIdx.x;
    float x = a[t], y = b[t];
    uint32_t *o = out + t * 16;
    o[0] = __float_as_uint(__fadd_rd(x, y));
    o[1] = __float_as_uint(__fmul_ru(x, y));
    o[2] = __float_as_uint(__fdiv_rz(x, y));
    o[3] = __float_as_uint(__fmaf_rd(x, y, x));
    o[4] = __float_as_uint(__fsqrt_ru(fabsf(x)));
    o[5] = __float_as_uint(__frcp_rd(y));
    o[6] = __float2int_rd(x);
    o[7] = __float2uint_ru(y);
    o[8] = __float_as_uint(rintf(x));
    o[9] = __float_as_uint(__int2float_rz(__float_as_int(x)));
    o[10] = __float_as_uint(fminf(x, y));
    o[11] = __float_as_uint(truncf(y));
    o[12] = __float_as_uint(__double2float_ru((double)x * y));
    o[13] = __float_as_uint(__saturatef(x));
    o[14] = (uint32_t)(long long)x;
    o[15] = __float_as_uint(copysignf(x, y)) ^ signbit(y);
}

// The library's functions in single and double precision.
extern "C" __global__ void functions(const double *in, double *out, int n) {
    int t = threadIdx.x;
    double x = in[t];
    float f = (float)x;
    double *o = out + t * n;
    o[0] = sin(x);
    o[1] = cos(x);
    o[2] = tan(x);
    o[3] = exp(x);
    o[4] = log(fabs(x));
    o[5] = pow(fabs(x), 1.7);
    o[6] = sqrt(fabs(x));
    o[7] = cbrt(x);
    o[8] = atan2(x, 2.0);
    o[9] = tanh(x);
    o[10] = erf(x);
    o[11] = tgamma(fabs(x) + 0.5);
    o[12] = fmod(x, 0.7);
    o[13] = hypot(x, 3.0);
    o[14] = asin(x / 40);
    o[15] = log1p(fabs(x));
    o[16] = sinf(f);
    o[17] = cosf(f);
    o[18] = tanf(f);
    o[19] = expf(f);
    o[20] = logf(fabsf(f));
    o[21] = powf(fabsf(f), 1.7f);
    o[22] = sqrtf(fabsf(f));
    o[23] = cbrtf(f);
    o[24] = atan2f(f, 2.0f);
    o[25] = tanhf(f);
    o[26] = erff(f);
    o[27] = f / 3.0f;
    o[28] = rsqrtf(fabsf(f));
    o[29] = exp2f(f);
    o[30] = log2f(fabsf(f));
    o[31] = sinf(f * 100000.0f);
}
