// The transpose kernels of kernels-gpu/src/base/transpose.rs, written in CUDA C++: same names, parameters and algorithm.
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

// vectorised.rs: 16 bytes a thread on both sides; K rows are turned in registers, V elements are 16 bytes.
__device__ __forceinline__ void turn(const uint4 (&v)[2], unsigned short (&piece)[16]) {
    const unsigned a[4] = {v[0].x, v[0].y, v[0].z, v[0].w}, b[4] = {v[1].x, v[1].y, v[1].z, v[1].w};
#pragma unroll
    for (int w = 0; w < 4; w++) {
        unsigned low = __byte_perm(a[w], b[w], 0x5140), high = __byte_perm(a[w], b[w], 0x7362);
        piece[4 * w] = low, piece[4 * w + 1] = low >> 16, piece[4 * w + 2] = high, piece[4 * w + 3] = high >> 16;
    }
}
__device__ __forceinline__ void turn(const uint4 (&v)[2], unsigned (&piece)[8]) {
    const unsigned a[4] = {v[0].x, v[0].y, v[0].z, v[0].w}, b[4] = {v[1].x, v[1].y, v[1].z, v[1].w};
#pragma unroll
    for (int w = 0; w < 4; w++)
        piece[2 * w] = __byte_perm(a[w], b[w], 0x5410), piece[2 * w + 1] = __byte_perm(a[w], b[w], 0x7632);
}
__device__ __forceinline__ void turn(const uint4 (&v)[1], unsigned (&piece)[4]) {
    piece[0] = v[0].x, piece[1] = v[0].y, piece[2] = v[0].z, piece[3] = v[0].w;
}
__device__ __forceinline__ void turn(const uint4 (&v)[1], uint2 (&piece)[2]) {
    piece[0] = make_uint2(v[0].x, v[0].y), piece[1] = make_uint2(v[0].z, v[0].w);
}
__device__ __forceinline__ void turn(const uint4 (&v)[1], uint4 (&piece)[1]) { piece[0] = v[0]; }

template <typename T, typename PIECE, int K, int ROWS, int COLS, int THREADS>
__device__ __forceinline__ void vectorised(unsigned rows, unsigned cols, const T *__restrict__ from, T *__restrict__ to) {
    constexpr int V = 16 / sizeof(T), PIECES = ROWS / K, CHUNK = 16 / sizeof(PIECE), CHUNKS = ROWS / V;
    constexpr int LOADS = ROWS * COLS / (K * V * THREADS), STORES = COLS * CHUNKS / THREADS, ACROSS = COLS / (8 * V);
    __shared__ __align__(16) PIECE tile[COLS * PIECES];
    auto place = [](int col, int piece) { return col * PIECES + ((piece / CHUNK) ^ (col / V % 8)) * CHUNK + piece % CHUNK; };
    unsigned row0 = blockIdx.x * ROWS, col0 = (blockIdx.z * gridDim.y + blockIdx.y) * COLS;
    if (row0 >= rows || col0 >= cols) return;
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint4 loaded[LOADS][K];
#pragma unroll
    for (int step = 0; step < LOADS; step++) {
        int unit = step * (THREADS / 32) + warp, r = (unit / ACROSS * 4 + lane / 8) * K, c = (unit % ACROSS * 8 + lane % 8) * V;
#pragma unroll
        for (int k = 0; k < K; k++) {
            unsigned row = min(row0 + r + k, rows - 1), col = min(col0 + c, cols - V);
            loaded[step][k] = __ldg(reinterpret_cast<const uint4 *>(from + size_t(row) * cols + col));
        }
    }
#pragma unroll
    for (int step = 0; step < LOADS; step++) {
        int unit = step * (THREADS / 32) + warp, r = (unit / ACROSS * 4 + lane / 8) * K, c = (unit % ACROSS * 8 + lane % 8) * V;
        PIECE piece[V];
        turn(loaded[step], piece);
#pragma unroll
        for (int j = 0; j < V; j++) tile[place(c + j, r / K)] = piece[j];
    }
    __syncthreads();
    uint4 chunk[STORES];
    int r = threadIdx.x % CHUNKS * V;
#pragma unroll
    for (int step = 0; step < STORES; step++)
        chunk[step] = *reinterpret_cast<uint4 *>(&tile[place(step * (THREADS / CHUNKS) + threadIdx.x / CHUNKS, r / K)]);
#pragma unroll
    for (int step = 0; step < STORES; step++) {
        unsigned row = row0 + r, col = col0 + step * (THREADS / CHUNKS) + threadIdx.x / CHUNKS;
        if (row < rows && col < cols) *reinterpret_cast<uint4 *>(to + size_t(col) * rows + row) = chunk[step];
    }
}

#define VECTORISED(name, T, PIECE, K, ROWS, COLS, THREADS)                                                                 \
    extern "C" __global__ void __launch_bounds__(THREADS) name(unsigned rows, unsigned cols, const T *__restrict__ from,   \
                                                               size_t, T *__restrict__ to) {                               \
        vectorised<T, PIECE, K, ROWS, COLS, THREADS>(rows, cols, from, to);                                                \
    }
VECTORISED(transpose_vectorised_1_byte, unsigned char, unsigned short, 2, 128, 256, 1024)
VECTORISED(transpose_vectorised_2_bytes, unsigned short, unsigned, 2, 128, 128, 1024)
VECTORISED(transpose_vectorised_4_bytes, unsigned, unsigned, 1, 64, 64, 512)
VECTORISED(transpose_vectorised_8_bytes, unsigned long long, uint2, 1, 32, 64, 512)
VECTORISED(transpose_vectorised_16_bytes, uint4, uint4, 1, 32, 32, 512)
FAMILY(_u8, unsigned char)
