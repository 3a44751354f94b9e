// What `cost.rs` measures, as nvcc compiles it: nvcc -arch=compute_80 -O3 -ptx cost.cu -o nvcc.ptx
template <int EDGE>
__device__ __forceinline__ void product(unsigned n, const float *__restrict__ a, const float *__restrict__ b, float *c) {
    __shared__ float tile_a[EDGE][EDGE], tile_b[EDGE][EDGE];
    unsigned x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * EDGE + y, column = blockIdx.x * EDGE + x;
    float sum = 0;
    for (unsigned first = 0; first < n; first += EDGE) {
        tile_a[y][x] = a[row * n + first + x];
        tile_b[y][x] = b[(first + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < EDGE; i++) sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

extern "C" __global__ void product_16(unsigned n, const float *a, const float *b, float *c) { product<16>(n, a, b, c); }
extern "C" __global__ void product_32(unsigned n, const float *a, const float *b, float *c) { product<32>(n, a, b, c); }

template <int PITCH>
__device__ __forceinline__ void turn(unsigned n, const float *__restrict__ a, float *c) {
    __shared__ float tile[32][PITCH];
    unsigned x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 32, row = blockIdx.y * 32;
    for (unsigned j = 0; j < 32; j += 8) tile[y + j][x] = a[(row + y + j) * n + column + x];
    __syncthreads();
    for (unsigned j = 0; j < 32; j += 8) c[(column + y + j) * n + row + x] = tile[x][y + j];
}

extern "C" __global__ void transpose(unsigned n, const float *a, const float *, float *c) { turn<32>(n, a, c); }
extern "C" __global__ void transpose_padded(unsigned n, const float *a, const float *, float *c) { turn<33>(n, a, c); }

extern "C" __global__ void transpose_naive(unsigned n, const float *a, const float *, float *c) {
    unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (unsigned j = 0; j < 32; j += 8) c[x * n + y + j] = a[(y + j) * n + x];
}

extern "C" __global__ void histogram(unsigned n, const float *a, const float *, float *c) {
    __shared__ unsigned bins[256];
    unsigned t = threadIdx.y * 32 + threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    for (unsigned j = 0; j < 4; j++) atomicAdd(&bins[(unsigned)a[((blockIdx.y * gridDim.x + blockIdx.x) * 4 + j) * 256 + t] & 255], 1u);
    __syncthreads();
    atomicAdd(reinterpret_cast<unsigned *>(c) + t, bins[t]);
}
