// The transpose kernels of kernels-gpu/src/transpose.rs, written in CUDA C++: same names, parameters and algorithm.
// A Rust slice is a pointer and a length.
#include <cstddef>
#include <cuda_fp16.h>

constexpr int TILE = 32, BLOCK_ROWS = 8;

template <typename T, bool TURN>
__device__ __forceinline__ void direct(size_t rows, size_t cols, const T *__restrict__ from, T *__restrict__ to) {
    size_t col = blockIdx.x * TILE + threadIdx.x;
    for (int part = 0; part < TILE / BLOCK_ROWS; part++) {
        size_t row = blockIdx.y * TILE + part * BLOCK_ROWS + threadIdx.y;
        if (row < rows && col < cols) to[TURN ? col * rows + row : row * cols + col] = from[row * cols + col];
    }
}

struct Plain {
    static constexpr int PITCH = TILE;
    static __device__ int place(int row, int col) { return row * TILE + col; }
};
struct Padded {
    static constexpr int PITCH = TILE + 1;
    static __device__ int place(int row, int col) { return row * (TILE + 1) + col; }
};
struct Swizzled {
    static constexpr int PITCH = TILE;
    static __device__ int place(int row, int col) { return row * TILE + (col ^ row); }
};

template <typename T, typename LAYOUT>
__device__ __forceinline__ void through_shared(size_t rows, size_t cols, const T *__restrict__ from, T *__restrict__ to) {
    __shared__ T tile[TILE * LAYOUT::PITCH];
    int x = threadIdx.x;
    size_t row = blockIdx.y * TILE, col = blockIdx.x * TILE;
    for (int part = 0; part < TILE / BLOCK_ROWS; part++) {
        int r = part * BLOCK_ROWS + threadIdx.y;
        if (row + r < rows && col + x < cols) tile[LAYOUT::place(r, x)] = from[(row + r) * cols + col + x];
    }
    __syncthreads();
    for (int part = 0; part < TILE / BLOCK_ROWS; part++) {
        int r = part * BLOCK_ROWS + threadIdx.y;
        if (col + r < cols && row + x < rows) to[(col + r) * rows + row + x] = tile[LAYOUT::place(x, r)];
    }
}

#define DIRECT(name, T, TURN)                                                                                              \
    extern "C" __global__ void __launch_bounds__(256) name(unsigned rows, unsigned cols, const T *__restrict__ from,       \
                                                           size_t, T *__restrict__ to) {                                   \
        direct<T, TURN>(rows, cols, from, to);                                                                             \
    }
#define SHARED(name, T, LAYOUT)                                                                                            \
    extern "C" __global__ void __launch_bounds__(256) name(unsigned rows, unsigned cols, const T *__restrict__ from,       \
                                                           size_t, T *__restrict__ to) {                                   \
        through_shared<T, LAYOUT>(rows, cols, from, to);                                                                   \
    }
#define FAMILY(suffix, T)                                                                                                  \
    DIRECT(transpose_copy##suffix, T, false)                                                                               \
    DIRECT(transpose_naive##suffix, T, true)                                                                               \
    SHARED(transpose_tile##suffix, T, Plain)                                                                               \
    SHARED(transpose_padded##suffix, T, Padded)                                                                            \
    SHARED(transpose_swizzled##suffix, T, Swizzled)

FAMILY(, float)
FAMILY(_f64, double)
FAMILY(_f16, __half)
