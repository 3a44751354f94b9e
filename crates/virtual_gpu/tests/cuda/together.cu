// Threads that work together: barriers, shuffles, votes, atomics, locks.
#include <stdint.h>

// Bitonic sort of a block's 256 values.
extern "C" __global__ void bitonic(int *values) {
    extern __shared__ int tile[];
    unsigned t = threadIdx.x;
    tile[t] = values[blockIdx.x * blockDim.x + t];
    for (unsigned k = 2; k <= blockDim.x; k *= 2)
        for (unsigned j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            unsigned other = t ^ j;
            if (other > t && (tile[t] > tile[other]) == ((t & k) == 0)) {
                int swapped = tile[t];
                tile[t] = tile[other];
                tile[other] = swapped;
            }
        }
    __syncthreads();
    values[blockIdx.x * blockDim.x + t] = tile[t];
}

// Inclusive prefix sum of a block: shuffles in a warp, then across warps.
extern "C" __global__ void scan(const uint32_t *in, uint32_t *out) {
    __shared__ uint32_t sums[32];
    unsigned t = threadIdx.x, lane = t & 31, warp = t >> 5;
    uint32_t x = in[t];
    for (int d = 1; d < 32; d *= 2) {
        uint32_t y = __shfl_up_sync(~0u, x, d);
        if (lane >= d) x += y;
    }
    if (lane == 31) sums[warp] = x;
    __syncthreads();
    if (warp == 0) {
        uint32_t s = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int d = 1; d < 32; d *= 2) {
            uint32_t y = __shfl_up_sync(~0u, s, d);
            if (lane >= d) s += y;
        }
        sums[lane] = s;
    }
    __syncthreads();
    out[t] = x + (warp ? sums[warp - 1] : 0);
}

// Keeps the odd values, packed: one atomic a warp.
extern "C" __global__ void filter(const uint32_t *in, uint32_t *out, uint32_t *count) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    if (in[i] & 1) {
        unsigned mask = __activemask();
        unsigned leader = __ffs(mask) - 1, base;
        if (lane == leader) base = atomicAdd(count, __popc(mask));
        base = __shfl_sync(mask, base, leader);
        out[base + __popc(mask & ((1u << lane) - 1))] = in[i];
    }
}

// Histogram in shared memory, merged by atomics.
extern "C" __global__ void histogram(const uint8_t *bytes, unsigned n, uint32_t *bins) {
    __shared__ uint32_t local[256];
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[bytes[i]], 1);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

// Lanes of one warp take a lock one after the other.
extern "C" __global__ void spin_lock(int *lock, volatile int *total) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    __threadfence();
    *total = *total * 3 % 1000003 + 1;
    __threadfence();
    atomicExch(lock, 0);
}

// Every block waits for all others, several times.
extern "C" __global__ void grid_barrier(volatile unsigned *arrived, unsigned *cells, int rounds) {
    for (int r = 1; r <= rounds; r++) {
        if (threadIdx.x == 0) {
            unsigned next = (blockIdx.x + 1) % gridDim.x;
            cells[r * gridDim.x + next] = cells[(r - 1) * gridDim.x + blockIdx.x] + r;
            __threadfence();
            atomicAdd((unsigned *)arrived, 1);
            while (*arrived < r * gridDim.x) {}
            __threadfence();
        }
        __syncthreads();
    }
}

// The last block to finish adds up what all left.
__device__ unsigned finished = 0;
extern "C" __global__ void last_block(const unsigned *in, unsigned *partial, unsigned *total) {
    __shared__ bool last;
    unsigned sum = __reduce_add_sync(~0u, in[blockIdx.x * 32 + threadIdx.x]);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        unsigned all = 0;
        for (unsigned b = 0; b < gridDim.x; b++) all = all * 31 + ((volatile unsigned *)partial)[b];
        *total = all;
    }
}

// Votes and matches.
extern "C" __global__ void votes(const uint32_t *in, uint32_t *out) {
    unsigned t = threadIdx.x;
    uint32_t x = in[t];
    uint32_t *o = out + t * 8;
    o[0] = __ballot_sync(~0u, x & 4);
    o[1] = __any_sync(~0u, x > 0xfff00000) | __all_sync(~0u, x != 0) << 1;
    o[2] = __match_any_sync(~0u, x & 3);
    int all;
    o[3] = __match_all_sync(~0u, x >> 31, &all) + all;
    o[4] = __reduce_max_sync(~0u, x);
    o[5] = __reduce_xor_sync(~0u, x);
    o[6] = __shfl_xor_sync(~0u, x, 5) + __shfl_down_sync(~0u, x, 3, 8);
    o[7] = __syncthreads_count(x & 1) + 1000 * __syncthreads_or(x == 12345) + 2000 * __syncthreads_and(x != 12345);
}

// Sums of doubles by compare-and-swap, and of floats by their own atomic; all exact here.
extern "C" __global__ void float_atomics(const float *in, double *sum, float *direct, float *largest) {
    float x = in[threadIdx.x];
    unsigned long long *cell = (unsigned long long *)sum, old = *cell, seen;
    do {
        seen = old;
        old = atomicCAS(cell, seen, __double_as_longlong(__longlong_as_double(seen) + (double)x));
    } while (old != seen);
    atomicAdd(direct, x);
    atomicMax((int *)largest, __float_as_int(fabsf(x)));
}
