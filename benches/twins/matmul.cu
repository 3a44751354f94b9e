// The matmul kernels of kernels-gpu/src/base/matmul, written in CUDA C++: same names, same parameters, same algorithm.
// A Rust slice is a pointer and a length.
#include <cstddef>

struct Gemm {
    unsigned m, n, k;
    float alpha, beta;
};

__device__ __forceinline__ void store(const Gemm &p, float *c, size_t row, size_t col, float sum) {
    if (row < p.m && col < p.n) {
        float before = p.beta == 0.0f ? 0.0f : p.beta * c[row * p.n + col];
        c[row * p.n + col] = p.alpha * sum + before;
    }
}

extern "C" __global__ void matmul_naive(Gemm p, const float *__restrict__ a, size_t, const float *__restrict__ b, size_t,
                                        float *c) {
    size_t row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= p.m || col >= p.n) return;
    float sum = 0.0f;
    for (size_t i = 0; i < p.k; i++) sum += a[row * p.k + i] * b[i * p.n + col];
    store(p, c, row, col, sum);
}

template <int EDGE, int ROW_STEP, int COL_STEP>
__device__ __forceinline__ void multiply(const Gemm &p, const float *__restrict__ a, const float *__restrict__ b, float *c,
                                         float *tile_a, float *tile_b) {
    size_t x = threadIdx.x, y = threadIdx.y;
    size_t row = blockIdx.y * EDGE + y, col = blockIdx.x * EDGE + x;
    float sum = 0.0f;
    for (size_t first = 0; first < p.k; first += EDGE) {
        tile_a[y * ROW_STEP + x * COL_STEP] = row < p.m && first + x < p.k ? a[row * p.k + first + x] : 0.0f;
        tile_b[y * ROW_STEP + x * COL_STEP] = first + y < p.k && col < p.n ? b[(first + y) * p.n + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < EDGE; i++) sum += tile_a[y * ROW_STEP + i * COL_STEP] * tile_b[i * ROW_STEP + x * COL_STEP];
        __syncthreads();
    }
    store(p, c, row, col, sum);
}

#define TILED(name, EDGE, ROW_STEP, COL_STEP, LEN)                                                                         \
    extern "C" __global__ void __launch_bounds__(EDGE * EDGE)                                                              \
        name(Gemm p, const float *__restrict__ a, size_t, const float *__restrict__ b, size_t, float *c) {                 \
        __shared__ float tile_a[LEN], tile_b[LEN];                                                                         \
        multiply<EDGE, ROW_STEP, COL_STEP>(p, a, b, c, tile_a, tile_b);                                                    \
    }

TILED(matmul_tiled_16, 16, 16, 1, 16 * 16)
TILED(matmul_tiled_32, 32, 32, 1, 32 * 32)
TILED(matmul_column_16, 16, 1, 16, 16 * 16)
TILED(matmul_column_16_padded, 16, 1, 17, 16 * 17)
TILED(matmul_column_32, 32, 1, 32, 32 * 32)
TILED(matmul_column_32_padded, 32, 1, 33, 32 * 33)

__device__ __forceinline__ void multiply_dynamic(const Gemm &p, size_t edge, const float *__restrict__ a,
                                                 const float *__restrict__ b, float *c, float *tile_a, float *tile_b,
                                                 size_t row_step, size_t col_step) {
    size_t x = threadIdx.x, y = threadIdx.y;
    size_t row = blockIdx.y * edge + y, col = blockIdx.x * edge + x;
    float sum = 0.0f;
    for (size_t first = 0; first < p.k; first += edge) {
        tile_a[y * row_step + x * col_step] = row < p.m && first + x < p.k ? a[row * p.k + first + x] : 0.0f;
        tile_b[y * row_step + x * col_step] = first + y < p.k && col < p.n ? b[(first + y) * p.n + col] : 0.0f;
        __syncthreads();
        for (size_t i = 0; i < edge; i++) sum += tile_a[y * row_step + i * col_step] * tile_b[i * row_step + x * col_step];
        __syncthreads();
    }
    store(p, c, row, col, sum);
}

extern __shared__ float dynamic[];

extern "C" __global__ void matmul_dynamic(Gemm p, unsigned edge, const float *__restrict__ a, size_t,
                                          const float *__restrict__ b, size_t, float *c) {
    multiply_dynamic(p, edge, a, b, c, dynamic, dynamic + edge * edge, edge, 1);
}

extern "C" __global__ void matmul_dynamic_column(Gemm p, unsigned edge, unsigned pad, const float *__restrict__ a, size_t,
                                                 const float *__restrict__ b, size_t, float *c) {
    size_t pitch = edge + pad;
    multiply_dynamic(p, edge, a, b, c, dynamic, dynamic + edge * pitch, 1, pitch);
}
