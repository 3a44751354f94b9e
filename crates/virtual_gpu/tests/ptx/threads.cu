// Threads that wait for each other: warps, lanes, blocks.
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

extern "C" __global__ void warp_functions(const int* in, int* out) {
    int i = threadIdx.x, v = in[i]; int* o = out + i * 12; unsigned all = 0xffffffffu;
    int sum = v; for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(all, sum, d);
    int scan = v; for (int d = 1; d < 32; d <<= 1) { int t = __shfl_up_sync(all, scan, d); if ((i & 31) >= d) scan += t; }
    o[0] = sum; o[1] = scan; o[2] = __ballot_sync(all, v & 1); o[3] = __all_sync(all, v >= 0); o[4] = __any_sync(all, v == 7);
    o[5] = __match_any_sync(all, v & 3); int p; o[6] = __match_all_sync(all, v > -1000, &p); o[7] = p;
    o[8] = __reduce_add_sync(all, v); o[9] = __reduce_max_sync(all, v); o[10] = __shfl_sync(all, v, i * 3, 8); o[11] = __shfl_down_sync(all, v, 5, 16);
}
extern "C" __global__ void divergent_warp_functions(int* out) {
    int i = threadIdx.x; int r;
    if (i % 3 == 0) r = __popc(__activemask()); else { unsigned m = __ballot_sync(0xffffffffu & ~0x49249249u, i & 1); r = (int)m; }
    __syncwarp(); out[i] = r + __shfl_sync(0xffffffffu, i, 31 - i);
}
extern "C" __global__ void warp_lock(int* lock, int* data) {
    for (int k = 0; k < 4; k++) {
        bool done = false;
        while (!done) {
            if (atomicCAS(lock, 0, 1) == 0) { int v = *(volatile int*)data; *(volatile int*)data = v + 1; __threadfence(); atomicExch(lock, 0); done = true; }
        }
    }
}
extern "C" __global__ void spin_lock(int* lock, int* data) {
    while (atomicCAS(lock, 0, 1) != 0) {}
    *(volatile int*)data += 1; __threadfence(); atomicExch(lock, 0);
}
extern "C" __global__ void lane_to_lane(volatile int* flag, int* out) {
    int i = threadIdx.x;
    if (i > 0) { while (flag[i - 1] == 0) {} }
    out[i] = (i > 0 ? out[i - 1] : 0) + i; __threadfence(); flag[i] = 1;
}
extern "C" __global__ void block_to_block(volatile int* flag, int* out) {
    int b = gridDim.x - 1 - blockIdx.x;  // the first block waits for the last
    if (threadIdx.x == 0) { if (b > 0) while (flag[b - 1] == 0) {} ; out[b] = (b > 0 ? ((volatile int*)out)[b - 1] : 0) + b; __threadfence(); flag[b] = 1; }
}
extern "C" __global__ void grid_barrier(int* data, int* out, int rounds) {
    cg::grid_group grid = cg::this_grid(); int i = grid.thread_rank(), n = grid.size();
    for (int r = 0; r < rounds; r++) {
        int v = data[(i + 1) % n]; grid.sync(); data[i] = v + 1; grid.sync();
    }
    out[i] = data[i];
}
extern "C" __global__ void block_reduce(const int* in, int* out) {
    __shared__ int part[32]; int i = threadIdx.x, v = in[blockIdx.x * blockDim.x + i];
    int odd = __syncthreads_count(v & 1), any = __syncthreads_or(v == 77), every = __syncthreads_and(v < 1000);
    for (int d = 16; d; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
    if (i % 32 == 0) part[i / 32] = v; __syncthreads();
    if (i == 0) { int s = 0; for (int k = 0; k < blockDim.x / 32; k++) s += part[k]; out[blockIdx.x * 4] = s; out[blockIdx.x * 4 + 1] = odd; out[blockIdx.x * 4 + 2] = any; out[blockIdx.x * 4 + 3] = every; }
}
extern "C" __global__ void producer_consumer(int* out) {
    __shared__ int box[32]; int w = threadIdx.x / 32, l = threadIdx.x % 32;
    for (int r = 0; r < 8; r++) {
        if (w == 0) { asm volatile("bar.sync 1, 64;" ::: "memory"); box[l] = r * 100 + l; asm volatile("bar.arrive 2, 64;" ::: "memory"); }
        else { asm volatile("bar.arrive 1, 64;" ::: "memory"); asm volatile("bar.sync 2, 64;" ::: "memory"); out[r * 32 + l] = box[31 - l]; }
    }
}
extern "C" __global__ void early_exit(int* out) {
    __shared__ int s; if (threadIdx.x == 0) s = 0; __syncthreads();
    if (threadIdx.x >= 40) return;
    atomicAdd(&s, 1); __syncthreads(); out[threadIdx.x] = s;
}
extern "C" __global__ void deadlock(int* out) { if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;"); else asm volatile("bar.sync 2, 64;"); out[0] = 1; }
extern "C" __global__ void lost_lane(int* out) { if (threadIdx.x < 16) __syncwarp(0xffffffffu); else asm volatile("bar.sync 0;"); out[0] = 1; }
extern "C" __global__ void forever(volatile int* flag) { while (*flag == 0) {} }
extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, int n) {
    __shared__ unsigned local[256];
    for (int k = threadIdx.x; k < 256; k += blockDim.x) local[k] = 0; __syncthreads();
    for (int k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) atomicAdd(&local[in[k]], 1u);
    __syncthreads(); for (int k = threadIdx.x; k < 256; k += blockDim.x) atomicAdd(&bins[k], local[k]);
}
extern "C" __global__ void atomics(int* i, unsigned* u, float* f, double* d, unsigned long long* l) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(i, t); atomicMax(i + 1, t); atomicMin(i + 2, -t); atomicXor(i + 3, t); atomicOr(i + 4, 1 << (t & 31)); atomicAnd(i + 5, ~(1 << (t & 15)));
    atomicInc(u, 9); atomicDec(u + 1, 9); atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicAdd(l, 1ull << 33); atomicMax(l + 1, (unsigned long long)t << 34);
}
extern "C" __global__ void time_passes(long long* out) { long long a = clock64(); unsigned long long g; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(g)); while (clock64() - a < 1000) {} unsigned long long h; asm volatile("mov.u64 %0, %globaltimer;" : "=l"(h)); out[0] = clock64() - a; out[1] = h - g; __nanosleep(100); }
