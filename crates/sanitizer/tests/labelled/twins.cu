// Labelled programs in pairs: a kernel's text stands once, and its twins differ where it asks for `X`, the mistake. Graph codes
// after Indigo, scopes, locks and grid barriers after ScoRD and iGuard, kernels of Rodinia's and SHOC's kind, strides after
// GPUVerify and Faial, warps without lockstep after HiRace, and structures without locks.
//
// The lines above each are as in suites.cu.
// nvcc -arch=compute_90 -std=c++17 -O3 -ptx twins.cu -o twins.ptx && gzip -9n twins.ptx
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
#include <cuda_fp16.h>
#include <type_traits>
namespace cg = cooperative_groups;
#define ARGS int *a, int *b, int n
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
#define T threadIdx.x
#define B(NAME, X, S) extern "C" __global__ void NAME##S(ARGS) { NAME<X>(a, b, n); }
#define TWIN(NAME) B(NAME, 0, _ok) B(NAME, 1, _bug)
#define TWIN3(NAME) TWIN(NAME) B(NAME, 2, _bug2)
#define TWIN4(NAME) TWIN3(NAME) B(NAME, 3, _bug3)
#define D template <int X> __device__ __forceinline__ void
#define V 256
// Older chips have no instruction for it.
__device__ __forceinline__ int warp_sum(int x) {
    for (int o = 16; o; o >>= 1) x += __shfl_xor_sync(~0u, x, o);
    return x;
}
__device__ __forceinline__ int nbr(int v, int k) { return (v * 5 + k * 37 + 1) % V; }

// ---- Indigo
// @ind_pull_loop_ok ok
// @ind_pull_loop_bug memory
// @ind_pull_loop_bug2 memory
D ind_pull_loop(ARGS) {
    // a: neighbours of 256 vertices, four each; the end of a row is one too far, or the vertex guard is missing
    int v = TID, deg = X == 1 ? 5 : 4;
    if (X != 2 && v >= V) return;
    int s = 0;
    for (int e = v * 4; e < v * 4 + deg; e++) s += a[e];
    b[v] = s;
}
TWIN3(ind_pull_loop)
// @ind_overflow_ok ok
// @ind_overflow_bug memory
extern "C" __global__ void ind_overflow_ok(ARGS) { b[((long long)TID * 16777217LL) % 1024] = 1; }
extern "C" __global__ void ind_overflow_bug(ARGS) { b[(int)(TID * 16777217u) % 1024] = 1; }
// @ind_path_compress_ok ok
// @ind_path_compress_bug race
template <int X> __device__ int find_root(int *p, int x) {
    if (X) { while (p[x] != x) { p[x] = p[p[x]]; x = p[x]; } return x; }
    while (true) {
        int q = cuda::atomic_ref<int, cuda::thread_scope_device>(p[x]).load(cuda::memory_order_relaxed);
        if (q == x) return x;
        int g = cuda::atomic_ref<int, cuda::thread_scope_device>(p[q]).load(cuda::memory_order_relaxed);
        if (g != q) atomicCAS(&p[x], q, g);
        x = q;
    }
}
D ind_path_compress(ARGS) {
    int v = TID;
    if (v >= V) return;
    for (int k = 0; k < 2; k++) {
        int u = nbr(v, k), r = find_root<X>(a, v), s = find_root<X>(a, u);
        while (r != s) {
            if (r < s) { int t = r; r = s; s = t; }
            int old = atomicCAS(&a[r], r, s);
            if (old == r) break;
            r = find_root<X>(a, r); s = find_root<X>(a, s);
        }
    }
}
TWIN(ind_path_compress)
// @ind_worklist_block_ok ok
// @ind_worklist_block_bug race
// @ind_worklist_block_bug2 race
// @ind_worklist_block_bug3 barrier,race
D ind_worklist_block(ARGS) {
    __shared__ int cnt, base, local[256];
    if (T == 0) cnt = 0;
    if (X != 2) __syncthreads();
    int v = TID;
    if (a[v] % 3 == 0) {
        int at = X == 1 ? cnt++ : atomicAdd(&cnt, 1);
        local[at & 255] = v;
        if (X == 3) __syncthreads();
    }
    __syncthreads();
    if (T == 0) base = atomicAdd(&b[0], cnt);
    __syncthreads();
    for (int i = T; i < cnt; i += blockDim.x) b[1 + base + i] = local[i];
}
TWIN4(ind_worklist_block)
// @ind_warp_row_ok ok
// @ind_warp_row_bug race
D ind_warp_row(ARGS) {
    // a warp for each vertex: 16 warps, 16 vertices
    int w = TID / 32, l = T & 31;
    __shared__ int part[4][32];
    int s = 0;
    for (int e = l; e < 64; e += 32) s += a[w * 64 + e];
    part[T / 32][l] = s;
    for (int o = 16; o; o >>= 1) {
        if (!X) __syncwarp();
        int x = l < o ? part[T / 32][l + o] : 0;
        if (!X) __syncwarp();
        if (l < o) part[T / 32][l] += x;
    }
    if (l == 0) b[w] = part[T / 32][0];
}
TWIN(ind_warp_row)
// @ind_block_vertex_ok ok
// @ind_block_vertex_bug race
D ind_block_vertex(ARGS) {
    __shared__ int best;
    for (int v = blockIdx.x; v < 16; v += gridDim.x) {
        if (T == 0) best = 0;
        __syncthreads();
        for (int e = T; e < 64; e += blockDim.x) atomicMax(&best, a[v * 64 + e]);
        __syncthreads();
        if (T == 0) b[v] = best;
        if (X == 1 && T == 64) b[16 + v] = best;
        if (!X) __syncthreads();
    }
}
TWIN(ind_block_vertex)
// @ind_cond_vertex_max_ok ok
// @ind_cond_vertex_max_bug race
D ind_cond_vertex_max(ARGS) {
    int v = TID;
    if (v >= V) return;
    int m = -1;
    for (int k = 0; k < 4; k++) m = max(m, a[nbr(v, k)]);
    if (X) { if (b[0] < m) b[0] = m; } else atomicMax(&b[0], m);
}
TWIN(ind_cond_vertex_max)
// @ind_float_rank_ok ok
// @ind_float_rank_bug race
D ind_float_rank(ARGS) {
    float *r = (float *)b;
    int v = TID;
    if (v >= V) return;
    float share = 1.0f / 4 / (v + 1);
    for (int k = 0; k < 4; k++) { if (X) r[nbr(v, k)] += share; else atomicAdd(&r[nbr(v, k)], share); }
}
TWIN(ind_float_rank)
// @ind_double_rank_ok ok
// @ind_double_rank_bug race
D ind_double_rank(ARGS) {
    double *r = (double *)b;
    int v = TID;
    if (v >= V) return;
    for (int k = 0; k < 4; k++) { if (X && k == 3) r[nbr(v, k)] += 0.25; else atomicAdd(&r[nbr(v, k)], 0.25); }
}
TWIN(ind_double_rank)
// @ind_byte_status_ok ok
// @ind_byte_status_bug race
D ind_byte_status(ARGS) {
    // status of a vertex in a byte: every thread writes its own, and reads neighbours in the next phase of one block
    unsigned char *pst = (unsigned char *)b;
    int v = T;
    if (blockIdx.x) return;
    pst[v] = v % 7;
    __syncthreads();
    int m = 0;
    for (int k = 0; k < 4; k++) m = max(m, (int)pst[nbr(v, k) % 128]);
    if (!X) __syncthreads();
    pst[v] = m;
}
TWIN(ind_byte_status)
// ---- SSSP with 64-bit (distance, parent)
// @ind_packed_min_ok ok
// @ind_packed_min_bug race
D ind_packed_min(ARGS) {
    unsigned long long *d = (unsigned long long *)b;
    int v = TID;
    if (v >= V) return;
    for (int k = 0; k < 4; k++) {
        int u = nbr(v, k);
        unsigned long long x = ((unsigned long long)(1000 - a[v]) << 32) | v;
        if (X) { // looks at the upper half with a plain load
            if (((unsigned *)d)[2 * u + 1] < (x >> 32)) atomicMax(&d[u], x);
        } else atomicMax(&d[u], x);
    }
}
TWIN(ind_packed_min)
// @ind_bfs_bitmap_ok ok
// @ind_bfs_bitmap_bug race
D ind_bfs_bitmap(ARGS) {
    int v = TID;
    if (v >= V) return;
    for (int k = 0; k < 4; k++) {
        int u = nbr(v, k);
        if (X) { b[u >> 5] |= 1 << (u & 31); }
        else { unsigned old = atomicOr((unsigned *)&b[u >> 5], 1u << (u & 31)); if (!(old >> (u & 31) & 1)) b[32 + u] = 1; }
    }
}
TWIN(ind_bfs_bitmap)
// @ind_tc_shared_ok ok
// @ind_tc_shared_bug race
D ind_tc_shared(ARGS) {
    __shared__ unsigned count;
    if (T == 0) count = 0;
    __syncthreads();
    unsigned mine = 0;
    for (int k = 0; k < 4; k++) mine += nbr(TID % V, k) & 1;
    mine = warp_sum(mine);
    if ((T & 31) == 0) { if (X) count += mine; else atomicAdd(&count, mine); }
    __syncthreads();
    if (T == 0) atomicAdd((unsigned *)b, count);
}
TWIN(ind_tc_shared)
// ---- scopes, ScoRD, iGUARD
// @sc_block_cas_lock_ok ok
// @sc_block_cas_lock_bug race
D sc_block_cas_lock(ARGS) {
    // lock of all blocks taken with block scope
    if (T == 0) {
        if (X) { while (atomicCAS_block(&b[0], 0, 1)) {} __threadfence_block(); b[1] += 1; __threadfence_block(); atomicExch_block(&b[0], 0); }
        else { while (atomicCAS(&b[0], 0, 1)) {} __threadfence(); b[1] += 1; __threadfence(); atomicExch(&b[0], 0); }
    }
}
TWIN(sc_block_cas_lock)
// @sc_lock_asm_ok ok
// @sc_lock_asm_bug race
// @sc_lock_asm_bug2 race
D sc_lock_asm(ARGS) {
    if (T != 0) return;
    int got;
    do {
        if (X == 1) asm volatile("atom.relaxed.gpu.cas.b32 %0, [%1], 0, 1;" : "=r"(got) : "l"(b) : "memory");
        else asm volatile("atom.acquire.gpu.cas.b32 %0, [%1], 0, 1;" : "=r"(got) : "l"(b) : "memory");
    } while (got);
    b[1] += 1;
    if (X == 2) asm volatile("st.relaxed.gpu.b32 [%0], 0;" :: "l"(b) : "memory");
    else asm volatile("st.release.gpu.b32 [%0], 0;" :: "l"(b) : "memory");
}
TWIN3(sc_lock_asm)
// @sc_ttas_ok ok
// @sc_ttas_bug race
D sc_ttas(ARGS) {
    if (T != 0) return;
    volatile int *l = b;
    while (true) {
        while (*l) __nanosleep(20);
        if (atomicCAS(&b[0], 0, 1) == 0) break;
    }
    if (!X) __threadfence();
    b[1] += 1;
    __threadfence();
    *l = 0;
}
TWIN(sc_ttas)
// @sc_mcs_lock_ok ok
// @sc_mcs_lock_bug race
D sc_mcs_lock(ARGS) {
    // b[0] tail; b[16+2i] next, b[17+2i] locked
    if (T != 0) return;
    using R = cuda::atomic_ref<int, cuda::thread_scope_device>;
    int me = blockIdx.x + 1;
    R next(b[16 + 2 * me]), locked(b[17 + 2 * me]);
    next.store(0, cuda::memory_order_relaxed);
    locked.store(1, cuda::memory_order_relaxed);
    int prev = R(b[0]).exchange(me, cuda::memory_order_acq_rel);
    if (prev) {
        R(b[16 + 2 * prev]).store(me, cuda::memory_order_release);
        while (locked.load(cuda::memory_order_acquire)) {}
    }
    b[1]++;
    if (!next.load(cuda::memory_order_acquire)) {
        int e = me;
        if (R(b[0]).compare_exchange_strong(e, 0, X ? cuda::memory_order_relaxed : cuda::memory_order_release, cuda::memory_order_relaxed)) return;
        while (!next.load(cuda::memory_order_acquire)) {}
    }
    R(b[17 + 2 * next.load(cuda::memory_order_acquire)]).store(0, X ? cuda::memory_order_relaxed : cuda::memory_order_release);
}
TWIN(sc_mcs_lock)
// @sc_bakery_ok ok
// @sc_bakery_bug race
D sc_bakery(ARGS) {
    // 4 blocks; b[8+i] choosing, b[16+i] number, all seq_cst
    if (T != 0) return;
    using R = cuda::atomic_ref<int, cuda::thread_scope_device>;
    auto o = X ? cuda::memory_order_relaxed : cuda::memory_order_seq_cst;
    int i = blockIdx.x;
    R(b[8 + i]).store(1, o);
    int m = 0;
    for (int j = 0; j < 4; j++) m = max(m, R(b[16 + j]).load(o));
    R(b[16 + i]).store(m + 1, o);
    R(b[8 + i]).store(0, o);
    for (int j = 0; j < 4; j++) {
        while (R(b[8 + j]).load(o)) {}
        while (true) {
            int k = R(b[16 + j]).load(o);
            if (k == 0 || k > m + 1 || k == m + 1 && j >= i) break;
        }
    }
    b[1]++;
    R(b[16 + i]).store(0, o);
}
TWIN(sc_bakery)
// @sc_xf_barrier_ok ok
// @sc_xf_barrier_bug race
// @sc_xf_barrier_bug2 race
extern "C" __global__ void sc_xf_barrier_ok(ARGS) {
    volatile int *in = b, *out = b + 8;
    a[TID] = TID;
    __threadfence();
    __syncthreads();
    if (blockIdx.x == 0) {
        if (T < gridDim.x && T > 0) { while (in[T] != 1) {} __threadfence(); }
        __syncthreads();
        if (T < gridDim.x) { __threadfence(); out[T] = 1; }
    } else if (T == 0) { in[blockIdx.x] = 1; while (out[blockIdx.x] != 1) {} __threadfence(); }
    __syncthreads();
    b[64 + TID] = a[511 - TID];
}
extern "C" __global__ void sc_xf_barrier_bug(ARGS) {
    volatile int *in = b, *out = b + 8;
    a[TID] = TID;
    __syncthreads();
    if (blockIdx.x == 0) {
        if (T < gridDim.x && T > 0) { while (in[T] != 1) {} __threadfence(); }
        __syncthreads();
        if (T < gridDim.x) { __threadfence(); out[T] = 1; }
    } else if (T == 0) { in[blockIdx.x] = 1; while (out[blockIdx.x] != 1) {} __threadfence(); }
    __syncthreads();
    b[64 + TID] = a[511 - TID];
}
extern "C" __global__ void sc_xf_barrier_bug2(ARGS) {
    volatile int *in = b, *out = b + 8;
    a[TID] = TID;
    __threadfence();
    __syncthreads();
    if (blockIdx.x == 0) {
        if (T < gridDim.x && T > 1) { while (in[T] != 1) {} __threadfence(); }
        __syncthreads();
        if (T < gridDim.x) { __threadfence(); out[T] = 1; }
    } else if (T == 0) { in[blockIdx.x] = 1; while (out[blockIdx.x] != 1) {} __threadfence(); }
    __syncthreads();
    b[64 + TID] = a[511 - TID];
}
// @sc_sense_barrier_ok ok
// @sc_sense_barrier_bug race
D sc_sense_barrier(ARGS) {
    // atomicInc wraps at the grid's size; generation in b[1]
    for (int r = 0; r < 3; r++) {
        a[TID] += r;
        __syncthreads();
        if (T == 0) {
            volatile int *gen = b + 1;
            int g = *gen;
            if (!X) __threadfence();
            if (atomicInc((unsigned *)b, gridDim.x - 1) == gridDim.x - 1) { __threadfence(); atomicAdd(&b[1], 1); }
            else while (*gen == g) {}
            __threadfence();
        }
        __syncthreads();
        b[32 + TID] += a[511 - TID];
        __syncthreads();
        if (T == 0) {
            volatile int *gen = b + 1;
            int g = *gen;
            __threadfence();
            if (atomicInc((unsigned *)b, gridDim.x - 1) == gridDim.x - 1) { __threadfence(); atomicAdd(&b[1], 1); }
            else while (*gen == g) {}
            __threadfence();
        }
        __syncthreads();
    }
}
TWIN(sc_sense_barrier)
// @sc_gridsync_ok ok coop=1
// @sc_gridsync_bug race coop=1
// @sc_gridsync_bug2 barrier,race coop=1
// @sc_gridsync_bug3 race coop=1
D sc_gridsync(ARGS) {
    auto g = cg::this_grid();
    a[TID] = TID * 2;
    if (X == 1) cg::this_thread_block().sync();
    else if (X == 2) { if (blockIdx.x != 3) g.sync(); }
    else g.sync();
    int s = a[511 - TID];
    if (X != 3) g.sync();
    a[TID] = s;
}
TWIN4(sc_gridsync)
// @sc_fence_wrong_side_ok ok
// @sc_fence_wrong_side_bug race
D sc_fence_wrong_side(ARGS) {
    volatile int *f = b;
    if (blockIdx.x == 0) {
        if (T == 0) {
            if (X) { __threadfence(); a[7] = 5; f[0] = 1; } else { a[7] = 5; __threadfence(); f[0] = 1; }
        }
    } else if (T == 0) { while (!f[0]) {} __threadfence(); b[1 + blockIdx.x] = a[7]; }
}
TWIN(sc_fence_wrong_side)
// @sc_producer_block_thread_ok ok
// @sc_producer_block_thread_bug race
D sc_producer_block_thread(ARGS) {
    // all threads of a block write, each fences, barrier, one tells; bug: only the one who tells fences, before the barrier
    if (blockIdx.x == 0) {
        a[T] = T;
        if (X) { if (T == 0) __threadfence(); } 
        __syncthreads();
        if (T == 0) { if (!X) __threadfence(); atomicExch(&b[0], 1); }
    } else {
        if (T == 0) { while (atomicAdd(&b[0], 0) == 0) {} __threadfence(); }
        __syncthreads();
        b[128 + TID] = a[T];
    }
}
TWIN(sc_producer_block_thread)
// @sc_system_scope_ok ok
// @sc_system_scope_bug race
D sc_system_scope(ARGS) {
    if (X) { if (TID % 128 == 0) b[0]++; } else atomicAdd_system(&b[0], 1);
}
TWIN(sc_system_scope)
// @sc_red_release_ok ok
// @sc_red_release_bug race
D sc_red_release(ARGS) {
    if (blockIdx.x != 0) {
        a[TID] = 3;
        if (X) asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" :: "l"(b) : "memory");
        else asm volatile("red.release.gpu.global.add.u32 [%0], 1;" :: "l"(b) : "memory");
    } else {
        int x;
        do { asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(b) : "memory"); } while (x != 384);
        b[64 + T] = a[128 + T] + a[256 + T] + a[384 + T];
    }
}
TWIN(sc_red_release)
// ---- SDK reductions 0..6
template <int R, int X> __device__ __forceinline__ void reduceN(ARGS) {
    extern __shared__ int sd[];
    unsigned t = T, i;
    if (R < 3) { i = TID; sd[t] = a[i]; }
    else { i = blockIdx.x * (blockDim.x * 2) + t; sd[t] = a[i] + a[i + blockDim.x]; }
    __syncthreads();
    if (R == 0) for (unsigned s = 1; s < blockDim.x; s *= 2) { if (t % (2 * s) == 0) sd[t] += sd[t + s]; if (!X) __syncthreads(); }
    else if (R == 1)
        for (unsigned s = 1; s < blockDim.x; s *= 2) {
            int k = 2 * s * t;
            if (k < blockDim.x) { sd[k] += sd[k + s]; if (X) __syncthreads(); }
            if (!X) __syncthreads();
        }
    else if (R < 4) for (unsigned s = blockDim.x / 2; s > 0; s >>= 1) { if (X ? t <= s : t < s) sd[t] += sd[t + s]; __syncthreads(); }
    else {
        for (unsigned s = blockDim.x / 2; s > 32; s >>= 1) { if (t < s) sd[t] += sd[t + s]; __syncthreads(); }
        if (t < 32) {
            volatile int *v = sd;
            int x = v[t];
            for (int o = 32; o; o >>= 1) { x += t + o < 64 ? v[t + o] : 0; if (!X) __syncwarp(); v[t] = x; if (!X) __syncwarp(); }
        }
    }
    if (t == 0) b[blockIdx.x] = sd[0];
}
#define RED(R) extern "C" __global__ void sdk_reduce##R##_ok(ARGS) { reduceN<R, 0>(a, b, n); } extern "C" __global__ void sdk_reduce##R##_bug(ARGS) { reduceN<R, 1>(a, b, n); }
// @sdk_reduce0_ok ok shared=512
// @sdk_reduce0_bug race shared=512
// @sdk_reduce1_ok ok shared=512
// @sdk_reduce1_bug race,barrier shared=512
// @sdk_reduce3_ok ok shared=512
// @sdk_reduce3_bug race,memory,init shared=512
// @sdk_reduce4_ok ok shared=512
// @sdk_reduce4_bug race shared=512
RED(0) RED(1) RED(3) RED(4)
// ---- Rodinia
// @rod_hotspot_ok ok block=16,16 grid=1
// @rod_hotspot_bug race block=16,16 grid=1
// @rod_hotspot_bug2 memory block=16,16 grid=1
D rod_hotspot(ARGS) {
    __shared__ float t[16][16], p[16][16], tt[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = tx - 1, y = ty - 1;
    int cx = min(max(x, 0), 13), cy = min(max(y, 0), 13);
    if (X == 2) { t[ty][tx] = a[y * 14 + x]; } else t[ty][tx] = a[cy * 14 + cx];
    p[ty][tx] = a[cy * 14 + cx + 200];
    __syncthreads();
    bool done = false;
    for (int i = 0; i < 3; i++) {
        done = false;
        if (tx >= i + 1 && tx <= 14 - i && ty >= i + 1 && ty <= 14 - i) {
            done = true;
            tt[ty][tx] = t[ty][tx] + 0.1f * (t[ty - 1][tx] + t[ty + 1][tx] + t[ty][tx - 1] + t[ty][tx + 1] - 4 * t[ty][tx]) + p[ty][tx];
        }
        __syncthreads();
        if (i == 2) break;
        if (done) t[ty][tx] = tt[ty][tx];
        if (X != 1) __syncthreads();
    }
    if (done) b[cy * 14 + cx] = tt[ty][tx];
}
TWIN3(rod_hotspot)
// @rod_nw_ok ok block=16 grid=1
// @rod_nw_bug race block=16 grid=1
// @rod_nw_bug2 init,memory block=16 grid=1
D rod_nw(ARGS) {
    __shared__ int t[17][17], r[16][16];
    int k = T;
    if (k == 0) t[0][0] = a[0];
    for (int y = 0; y < 16; y++) r[y][k] = a[y * 16 + k];
    if (X != 2) t[k + 1][0] = a[(k + 1) * 17 % 1024];
    __syncthreads();
    t[0][k + 1] = a[k + 1];
    __syncthreads();
    for (int m = 0; m < 16; m++) {
        if (k <= m) { int x = k + 1, y = m - k + 1; t[y][x] = max(t[y - 1][x - 1] + r[y - 1][x - 1], max(t[y][x - 1], t[y - 1][x]) - 10); }
        if (X != 1 && blockDim.x > 1) __syncthreads();
        else if (X == 1 && m != 3) __syncwarp();
    }
    for (int m = 14; m >= 0; m--) {
        if (k <= m) { int x = k + 16 - m, y = 16 - k; t[y][x] = max(t[y - 1][x - 1] + r[y - 1][x - 1], max(t[y][x - 1], t[y - 1][x]) - 10); }
        __syncthreads();
    }
    for (int y = 0; y < 16; y++) b[y * 16 + k] = t[y + 1][k + 1];
}
TWIN3(rod_nw)
// @rod_lud_diag_ok ok block=16 grid=1
// @rod_lud_diag_bug race block=16 grid=1
D rod_lud_diag(ARGS) {
    __shared__ float m[16][16];
    float *f = (float *)b;
    for (int i = 0; i < 16; i++) m[i][T] = 1.0f + a[i * 16 + T] % 7;
    __syncthreads();
    for (int i = 0; i < 15; i++) {
        if (T > i) {
            for (int j = 0; j < i; j++) m[T][i] -= m[T][j] * m[j][i];
            m[T][i] /= m[i][i] + 1;
        }
        if (!X) __syncthreads();
        if (T > i) for (int j = 0; j < i + 1; j++) m[i + 1][T] -= m[i + 1][j] * m[j][T];
        __syncthreads();
    }
    for (int i = 0; i < 16; i++) f[i * 16 + T] = m[i][T];
}
TWIN(rod_lud_diag)
// @rod_srad_ok ok
// @rod_srad_bug race
D rod_srad(ARGS) {
    float *J = (float *)b;
    int i = TID;
    // two passes in one launch need a grid barrier; within a block's own rows only
    __shared__ float c[130];
    c[T + 1] = a[i];
    if (T == 0) { c[0] = a[i]; c[129] = a[i]; }
    __syncthreads();
    float d = c[T] + c[T + 2] - 2 * c[T + 1];
    if (!X) __syncthreads();
    c[T + 1] = 1 / (1 + d * d);
    __syncthreads();
    J[i] = c[T + 1] * c[T + 2 > 128 ? T + 1 : T + 2];
}
TWIN(rod_srad)
// @rod_kmeans_ok ok
// @rod_kmeans_bug race
D rod_kmeans(ARGS) {
    __shared__ int sum[4], cnt[4];
    if (T < 4) sum[T] = cnt[T] = 0;
    __syncthreads();
    int v = a[TID], k = v * 7 % 4;
    atomicAdd(&sum[k], v);
    if (X) cnt[k]++; else atomicAdd(&cnt[k], 1);
    __syncthreads();
    if (T < 4) { atomicAdd(&b[T], sum[T]); atomicAdd(&b[4 + T], cnt[T]); }
}
TWIN(rod_kmeans)
// @rod_backprop_ok ok block=16,16 grid=1
// @rod_backprop_bug race block=16,16 grid=1
D rod_backprop(ARGS) {
    __shared__ float in[16], w[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    if (tx == 0) in[ty] = a[ty];
    __syncthreads();
    w[ty][tx] = a[ty * 16 + tx];
    __syncthreads();
    w[ty][tx] *= in[ty];
    __syncthreads();
    for (int i = 1; i <= 4; i++) {
        int p = 1 << i;
        if (ty % p == 0) w[ty][tx] += w[ty + p / 2][tx];
        if (!X) __syncthreads();
    }
    ((float *)b)[ty * 16 + tx] = w[ty][tx];
}
TWIN(rod_backprop)
// @rod_gaussian_ok ok block=16,16 grid=1
// @rod_gaussian_bug race block=16,16 grid=1
D rod_gaussian(ARGS) {
    float *m = (float *)b;
    int x = threadIdx.x, y = threadIdx.y;
    m[y * 16 + x] = 1 + (x == y) * 5 + a[y * 16 + x] % 3;
    __syncthreads();
    __shared__ float f[16];
    for (int k = 0; k < 15; k++) {
        if (x == 0 && y > k) f[y] = m[y * 16 + k] / m[k * 16 + k];
        __syncthreads();
        if (y > k && x >= k) m[y * 16 + x] -= f[y] * m[k * 16 + x];
        if (!X) __syncthreads();
    }
}
TWIN(rod_gaussian)
// @rod_pathfinder_ok ok grid=1
// @rod_pathfinder_bug race grid=1
D rod_pathfinder(ARGS) {
    __shared__ int prev[128], res[128];
    int t = T;
    prev[t] = a[t];
    __syncthreads();
    bool comp;
    for (int i = 0; i < 5; i++) {
        comp = false;
        if (t >= i + 1 && t <= 126 - i) {
            comp = true;
            res[t] = min(min(prev[t - 1], prev[t]), prev[t + 1]) + a[(i + 1) * 128 + t];
        }
        if (!X) __syncthreads();
        if (i == 4) break;
        if (comp) prev[t] = res[t];
        __syncthreads();
    }
    if (comp) b[t] = res[t];
}
TWIN(rod_pathfinder)
// @rod_streamcluster_ok ok
// @rod_streamcluster_bug race
D rod_streamcluster(ARGS) {
    // each thread has a row of its own in a work table
    float *w = (float *)b;
    int i = TID, k = a[i] & 1;
    w[i * 2 + k] += 1.5f;
    w[i * 2 + (k ^ 1)] = 0.5f;
    if (X) w[i * 2 + 2 & 1023] += 0.25f;
}
TWIN(rod_streamcluster)
// ---- GPUVerify / Faial: strides
// @fv_strided_ok ok grid=1
// @fv_strided_bug race grid=1
D fv_strided(ARGS) { for (int i = T; i < 1024 - X; i += blockDim.x) b[i + (X && T == 127 ? 1 : 0)] = i; }
TWIN(fv_strided)
// @fv_twod_ok ok block=8,16
// @fv_twod_bug race block=8,16
D fv_twod(ARGS) { b[blockIdx.x * 128 + threadIdx.y * (X ? 7 : 8) + threadIdx.x] = threadIdx.x + threadIdx.y * 100; }
TWIN(fv_twod)
// @fv_even_odd_ok ok
// @fv_even_odd_bug race
D fv_even_odd(ARGS) {
    __shared__ int s[256];
    s[2 * T] = a[TID]; s[2 * T + 1] = 0;
    s[2 * T + 1] = s[2 * T] + (X ? s[(2 * T + 3) & 255] : 0);
    __syncthreads();
    b[TID] = s[2 * T + 1];
}
TWIN(fv_even_odd)
// @fv_mod_ok ok grid=1
// @fv_mod_bug race grid=1
D fv_mod(ARGS) { b[(T * 5) % (X ? 124 : 131)] = T; }
TWIN(fv_mod)
// @fv_xor_ok ok grid=1
// @fv_xor_bug race grid=1
D fv_xor(ARGS) { b[T ^ 21] = a[T]; if (X) b[(T * 2) ^ 1] += 1; }
TWIN(fv_xor)
// ---- HiRace ITS
// @its_branch_order_ok ok only=optimised
// @its_branch_order_bug race
D its_branch_order(ARGS) {
    __shared__ int s[128];
    int l = T & 31, w = T & ~31;
    s[T] = a[TID];
    __syncwarp();
    int x = 0;
    if (l < 16) { x = s[w + l + 16]; if (!X) __syncwarp(0xffff); s[w + l] = x; }
    else { x = 2; s[T] += X ? 1 : 0; }
    __syncwarp();
    b[TID] = s[w + 31 - l] + x;
}
TWIN(its_branch_order)
// @its_global_warp_ok ok
// @its_global_warp_bug race
D its_global_warp(ARGS) {
    a[TID] = T;
    if (!X) __syncwarp();
    b[TID] = a[TID ^ 1];
}
TWIN(its_global_warp)
// @its_leader_ok ok
// @its_leader_bug race
D its_leader(ARGS) {
    __shared__ int base[4];
    unsigned m = __ballot_sync(~0u, a[TID] % 3 == 0);
    int lead = __ffs(m) - 1;
    if ((T & 31) == lead) base[T / 32] = atomicAdd(&b[1000], __popc(m));
    if (!X) __syncwarp();
    if (m >> (T & 31) & 1) b[base[T / 32] + __popc(m & ((1u << (T & 31)) - 1))] = TID;
}
TWIN(its_leader)
// @its_loop_trip_ok ok
// @its_loop_trip_bug race
D its_loop_trip(ARGS) {
    __shared__ int s[128];
    s[T] = 0;
    __syncwarp();
    for (int k = 0; k < (T & 3) + 1; k++) { s[T] += k; }
    if (!X) __syncwarp();
    b[TID] = s[T ^ 3];
}
TWIN(its_loop_trip)
// @its_shfl_tree_ok ok
// @its_shfl_tree_bug barrier,init
D its_shfl_tree(ARGS) {
    int x = a[TID];
    if ((T & 31) < 16) { for (int o = 8; o; o >>= 1) x += __shfl_xor_sync(X ? 0xffffffff : 0xffff, x, o, 16); }
    b[TID] = x;
}
TWIN(its_shfl_tree)
// ---- misc synchronisation
// @ms_sync_count_ok ok
// @ms_sync_count_bug race
D ms_sync_count(ARGS) {
    __shared__ int s[128];
    int left = 1, r = 0;
    s[T] = a[TID] & 15;
    __syncthreads();
    while (left) {
        int v = s[(T + 1) & 127];
        if (X) { left = __any_sync(~0u, v > 8 && r < 3); } else left = __syncthreads_or(v > 8 && r < 3);
        s[T] = v - 1;
        if (!X) __syncthreads(); else if (r >= 0) __syncthreads();
        if (++r > 4) break;
        if (X) left = r < 3;
    }
    b[TID] = s[T];
}
TWIN(ms_sync_count)
// @ms_early_exit_lane_ok ok block=100
// @ms_early_exit_lane_bug race block=100
D ms_early_exit_lane(ARGS) {
    __shared__ int s[100];
    s[T] = a[TID];
    if (X) __syncwarp(); else __syncthreads();
    b[TID] = s[99 - T];
}
TWIN(ms_early_exit_lane)
// @ms_two_names_ok ok
// @ms_two_names_bug race
D ms_two_names(ARGS) {
    // two halves of a block, each with its own barrier
    __shared__ int s[128];
    int h = T / 64;
    s[T] = a[TID];
    if (h == 0) asm volatile("bar.sync 1, 64;" ::: "memory"); else asm volatile("bar.sync 2, 64;" ::: "memory");
    int x = s[X ? 127 - T : h * 64 + 63 - (T & 63)];
    b[TID] = x;
}
TWIN(ms_two_names)
// @ms_arrive_pingpong_ok ok grid=1
// @ms_arrive_pingpong_bug race,barrier grid=1
D ms_arrive_pingpong(ARGS) {
    __shared__ int s[2][64];
    if (T < 64) {
        for (int k = 0; k < 6; k++) {
            if (k >= 2) { if (!(X && k == 4)) asm volatile("bar.sync %0, 128;" :: "r"(3 + (k & 1)) : "memory"); }
            s[k & 1][T] = a[k * 64 + T];
            asm volatile("bar.arrive %0, 128;" :: "r"(1 + (k & 1)) : "memory");
        }
    } else {
        for (int k = 0; k < 6; k++) {
            asm volatile("bar.sync %0, 128;" :: "r"(1 + (k & 1)) : "memory");
            b[k * 64 + T - 64] = s[k & 1][127 - T];
            if (k < 4 && !(X && k == 2)) asm volatile("bar.arrive %0, 128;" :: "r"(3 + (k & 1)) : "memory");
        }
    }
}
TWIN(ms_arrive_pingpong)
// @ms_union_types_ok ok
// @ms_union_types_bug race
D ms_union_types(ARGS) {
    __shared__ union { int i[128]; double d[64]; short h[256]; } u;
    u.i[T] = a[TID];
    __syncthreads();
    int x = u.i[127 - T];
    if (!X) __syncthreads();
    u.h[T] = (short)x;
    __syncthreads();
    b[TID] = u.h[127 - T];
}
TWIN(ms_union_types)
// @ms_vec4_neighbour_ok ok
// @ms_vec4_neighbour_bug race
D ms_vec4_neighbour(ARGS) {
    __shared__ float4 s[128];
    s[T] = make_float4(a[TID], 1, 2, 3);
    if (X) s[(T + 1) & 127].w = 9; else s[T].w = 9;
    __syncthreads();
    float4 v = s[127 - T];
    b[TID] = v.x + v.w;
}
TWIN(ms_vec4_neighbour)
// @ms_half_pair_ok ok
// @ms_half_pair_bug race
D ms_half_pair(ARGS) {
    __half *h = (__half *)b;
    if (X) h[TID ^ 1] = __float2half(h[TID] > __half(0) ? 1.f : 2.f); else h[TID] = __float2half(3.f + T);
}
TWIN(ms_half_pair)
// @ms_bits_ballot_ok ok
// @ms_bits_ballot_bug race
D ms_bits_ballot(ARGS) {
    unsigned m = __ballot_sync(~0u, a[TID] & 1);
    if (X || (T & 31) == 0) b[X ? TID / 64 : TID / 32] = m + (X ? T : 0);
}
TWIN(ms_bits_ballot)
using RI = cuda::atomic_ref<int, cuda::thread_scope_device>;
using RB = cuda::atomic_ref<int, cuda::thread_scope_block>;
#define RLX cuda::memory_order_relaxed
#define ACQ cuda::memory_order_acquire
#define REL cuda::memory_order_release
#define AR cuda::memory_order_acq_rel
#define SC cuda::memory_order_seq_cst
// ---- MPMC queue of Vyukov: slots with sequence numbers
// @q_vyukov_ok ok
// @q_vyukov_bug race
// @q_vyukov_bug2 race
D q_vyukov(ARGS) {
    // b[0] head, b[1] tail; slots from b[64]: seq, data; init seq by block 0 of a launch: use a (host filled): seq stored as a[i]=i
    // a[0..64): sequence numbers (host: i). data: b[64..128)
    int *data = b + 64;
    if (T & 31) return;
    for (int r = 0; r < 2; r++) {
        // push
        int pos;
        while (true) {
            pos = RI(b[0]).load(RLX);
            int s = RI(a[pos & 63]).load(ACQ), dif = s - pos;
            if (dif == 0) { if (RI(b[0]).compare_exchange_weak(pos, pos + 1, RLX)) break; }
        }
        data[pos & 63] = TID;
        RI(a[pos & 63]).store(pos + 1, X == 1 ? RLX : REL);
        // pop
        while (true) {
            pos = RI(b[1]).load(RLX);
            int s = RI(a[pos & 63]).load(X == 2 ? RLX : ACQ), dif = s - (pos + 1);
            if (dif == 0) { if (RI(b[1]).compare_exchange_weak(pos, pos + 1, RLX)) break; }
        }
        int got = data[pos & 63];
        RI(a[pos & 63]).store(pos + 64, REL);
        atomicAdd(&b[2], got);
    }
}
TWIN3(q_vyukov)
// @q_spsc_ok ok
// @q_spsc_bug race
D q_spsc(ARGS) {
    // block 0 to block 1, ring of 8
    int *ring = b + 32;
    if (T) return;
    if (blockIdx.x == 0) {
        for (int k = 0; k < 40; k++) {
            while (k - RI(b[1]).load(X ? RLX : ACQ) >= 8) {}
            ring[k & 7] = k;
            RI(b[0]).store(k + 1, REL);
        }
    } else if (blockIdx.x == 1) {
        int s = 0;
        for (int k = 0; k < 40; k++) {
            while (RI(b[0]).load(ACQ) <= k) {}
            s += ring[k & 7];
            RI(b[1]).store(k + 1, X ? RLX : REL);
        }
        b[2] = s;
    }
}
TWIN(q_spsc)
// @sq_fences_ok ok
// @sq_fences_bug race
D sq_fences(ARGS) {
    // seqlock: data by relaxed atomics
    if (T) return;
    if (blockIdx.x == 0) {
        for (int k = 1; k < 5; k++) {
            RI(b[0]).store(2 * k - 1, RLX);
            cuda::atomic_thread_fence(REL, cuda::thread_scope_device);
            if (X) { b[8] = k; b[9] = -k; } else { RI(b[8]).store(k, RLX); RI(b[9]).store(-k, RLX); }
            RI(b[0]).store(2 * k, REL);
        }
    } else {
        int s, x, y;
        for (int tries = 0; tries < 50; tries++) {
            s = RI(b[0]).load(ACQ);
            x = X ? b[8] : RI(b[8]).load(RLX); y = X ? b[9] : RI(b[9]).load(RLX);
            cuda::atomic_thread_fence(ACQ, cuda::thread_scope_device);
            if (!(s & 1) && RI(b[0]).load(RLX) == s) break;
        }
        a[blockIdx.x] = x + y;
    }
}
TWIN(sq_fences)
// @treiber_ok ok
// @treiber_bug race
D treiber(ARGS) {
    // nodes: a[i] next (own node i = TID+1), payload b[512 + i]; top b[0] with a tag
    if (T & 15) return;
    unsigned long long *top = (unsigned long long *)b;
    using RU = cuda::atomic_ref<unsigned long long, cuda::thread_scope_device>;
    int me = TID / 16 + 1;
    b[512 + me] = me * 3;
    auto old = RU(*top).load(RLX);
    unsigned long long now;
    do { RI(a[me]).store((int)(old & 0xffffffff), RLX); now = ((old >> 32) + 1) << 32 | me; } while (!RU(*top).compare_exchange_weak(old, now, X ? RLX : REL, RLX));
    old = RU(*top).load(ACQ);
    while (old & 0xffffffff) {
        int node = old & 0xffffffff;
        int next = RI(a[node]).load(RLX);
        now = ((old >> 32) + 1) << 32 | (unsigned)next;
        if (RU(*top).compare_exchange_weak(old, now, AR, ACQ)) { atomicAdd(&b[2], b[512 + node]); break; }
    }
}
TWIN(treiber)
// @ws_deque_ok ok
// @ws_deque_bug race
D ws_deque(ARGS) {
    // Chase-Lev: owner block 0, thieves the others; tasks in b[64..]; top b[0], bottom b[1]
    if (T) return;
    using R = RI;
    if (blockIdx.x == 0) {
        for (int k = 0; k < 16; k++) {
            int bo = R(b[1]).load(RLX);
            if (X) b[64 + bo] = k + 1; else R(b[64 + bo]).store(k + 1, RLX);
            if (!X) cuda::atomic_thread_fence(REL, cuda::thread_scope_device);
            a[64 + k] = k; // task's data
            cuda::atomic_thread_fence(X ? RLX : REL, cuda::thread_scope_device);
            R(b[1]).store(bo + 1, RLX);
        }
        for (int k = 0; k < 6; k++) {
            int bo = R(b[1]).load(RLX) - 1;
            R(b[1]).store(bo, RLX);
            cuda::atomic_thread_fence(SC, cuda::thread_scope_device);
            int t = R(b[0]).load(RLX);
            if (t <= bo) {
                int x = R(b[64 + bo]).load(RLX);
                if (t == bo) {
                    if (!R(b[0]).compare_exchange_strong(t, t + 1, SC, RLX)) x = 0;
                    R(b[1]).store(bo + 1, RLX);
                }
                if (x) atomicAdd(&b[2], a[64 + x - 1]);
            } else R(b[1]).store(bo + 1, RLX);
        }
    } else {
        for (int k = 0; k < 6; k++) {
            int t = R(b[0]).load(ACQ);
            cuda::atomic_thread_fence(SC, cuda::thread_scope_device);
            int bo = R(b[1]).load(ACQ);
            if (t < bo) {
                int x = R(b[64 + t]).load(RLX);
                if (R(b[0]).compare_exchange_strong(t, t + 1, SC, RLX)) atomicAdd(&b[2], a[64 + x - 1]);
            }
        }
    }
}
TWIN(ws_deque)
// @lookback64_ok ok
// @lookback64_bug race
// @lookback64_bug2 race
D lookback64(ARGS) {
    // dynamic block id, status and value apart, flags
    __shared__ int bid, sum, prefix;
    if (T == 0) { bid = atomicAdd(&b[0], 1); sum = 0; }
    __syncthreads();
    atomicAdd(&sum, a[bid * 128 + T] & 7);
    __syncthreads();
    int *agg = b + 16, *inc = b + 32;
    volatile int *flag = b + 48;
    if (T == 0) {
        agg[bid] = sum;
        __threadfence();
        flag[bid] = 1;
        int p = 0;
        for (int k = bid - 1; k >= 0; k--) {
            int f;
            while ((f = flag[k]) == 0) {}
            if (X != 2) __threadfence();
            if (f == 2) { p += inc[k]; break; }
            p += agg[k];
        }
        prefix = p;
        inc[bid] = p + sum;
        if (X != 1) __threadfence();
        flag[bid] = 2;
    }
    __syncthreads();
    b[128 + bid * 128 + T] = prefix + T;
}
TWIN3(lookback64)
// @ecl_cc_ok ok
// @ecl_cc_bug race
D ecl_cc(ARGS) {
    // ECL-CC hooks with volatile looks at the parents; bug: plain
    int v = TID;
    if (v >= V) return;
    using P = std::conditional_t<X != 0, int *, volatile int *>;
    P p = a;
    auto rep = [&](int i) { int c = p[i]; while (c != i) { i = c; c = p[i]; } return i; };
    for (int k = 0; k < 3; k++) {
        int x = rep(v), y = rep(nbr(v, k));
        while (x != y) {
            int hi = max(x, y), lo = min(x, y), r = atomicCAS(&a[hi], hi, lo);
            if (r == hi) break;
            x = rep(r);
            y = lo;
        }
    }
}
TWIN(ecl_cc)
// @cuckoo_ok ok
// @cuckoo_bug race
D cuckoo(ARGS) {
    // 64-bit atomicExch of key and value
    unsigned long long *t = (unsigned long long *)b;
    unsigned long long kv = ((unsigned long long)(a[TID] + 1) << 32) | TID;
    int at = (a[TID] * 7) % 500;
    for (int k = 0; k < 20 && kv; k++) {
        if (X && k == 0) { unsigned long long old = t[at]; t[at] = kv; kv = old; }
        else kv = atomicExch(&t[at], kv);
        int key = (int)(kv >> 32);
        at = at == key * 7 % 500 ? key * 13 % 500 : key * 7 % 500;
    }
}
TWIN(cuckoo)
// @hash_128_ok ok
// @hash_128_bug race
D hash_128(ARGS) {
    // state, key, value: claimed by CAS, published by release
    int key = a[TID] * 5 % 97;
    int *st = b, *ks = b + 256, *vs = b + 512;
    for (int i = key, k = 0; k < 256; k++, i = (i + 1) & 255) {
        int s = RI(st[i]).load(ACQ);
        if (s == 0) {
            if (RI(st[i]).compare_exchange_strong(s, 1, ACQ, ACQ)) {
                ks[i] = key;
                if (X) { RI(st[i]).store(2, REL); vs[i] = TID; } else { vs[i] = TID; RI(st[i]).store(2, REL); }
                return;
            }
        }
        while (s == 1) s = RI(st[i]).load(ACQ);
        if (ks[i] == key) { if (vs[i] == -5) RI(a[3]).store(1, RLX); return; }
    }
}
TWIN(hash_128)
// @dissemination_ok ok
// @dissemination_bug race
D dissemination(ARGS) {
    // dissemination barrier of 4 blocks, 2 rounds
    a[TID] = T + blockIdx.x;
    __syncthreads();
    if (T == 0) {
        for (int r = 0; r < (X ? 1 : 2); r++) {
            int to = (blockIdx.x + (1 << r)) & 3;
            RI(b[r * 8 + to]).store(1, REL);
            while (!RI(b[r * 8 + blockIdx.x]).load(ACQ)) {}
        }
    }
    __syncthreads();
    b[128 + TID] = a[511 - TID] + a[(TID + 256) & 511];
}
TWIN(dissemination)
// @tree_barrier_ok ok
// @tree_barrier_bug race
extern "C" __global__ void tree_barrier_ok(ARGS) {
    a[TID] = T;
    __syncthreads();
    if (T == 0) {
        __threadfence();
        int g = blockIdx.x / 2;
        if (atomicAdd(&b[g], 1) == 1) { __threadfence(); if (atomicAdd(&b[4], 1) == 1) { __threadfence(); atomicExch(&b[5], 1); } }
        while (atomicAdd(&b[5], 0) == 0) {}
        __threadfence();
    }
    __syncthreads();
    b[128 + TID] = a[511 - TID];
}
extern "C" __global__ void tree_barrier_bug(ARGS) {
    a[TID] = T;
    __syncthreads();
    if (T == 0) {
        __threadfence();
        if (atomicAdd(&b[blockIdx.x / 2], 1) == 1) atomicExch(&b[5 + blockIdx.x / 2], 1);
        while (atomicAdd(&b[5 + blockIdx.x / 2], 0) == 0) {}
        __threadfence();
    }
    __syncthreads();
    b[128 + TID] = a[511 - TID];
}
// @inc_ring_ok ok
// @inc_ring_bug race
D inc_ring(ARGS) {
    // atomicInc hands out slots of a ring; every slot used once a round of 512
    unsigned at = atomicInc((unsigned *)&b[0], X ? 255 : 511);
    b[256 + at] = TID;
}
TWIN(inc_ring)
// @last_block_cuda_atomic_ok ok
// @last_block_cuda_atomic_bug race
D last_block_cuda_atomic(ARGS) {
    __shared__ bool last;
    int s = warp_sum(a[TID]);
    if ((T & 31) == 0) b[64 + TID / 32] = s;
    __syncthreads();
    if (T == 0) last = RI(b[0]).fetch_add(1, X ? RLX : AR) == gridDim.x - 1;
    __syncthreads();
    if (last && T < 16) atomicAdd(&b[1], b[64 + T]);
}
TWIN(last_block_cuda_atomic)
// @cg_cluster_group_ok ok
// @cg_tiles_meta_ok ok
D cg_tiles_meta(ARGS) {
    auto blk = cg::this_thread_block();
    auto t16 = cg::tiled_partition<16>(blk);
    auto t4 = cg::tiled_partition<4>(t16);
    __shared__ int s[128];
    s[T] = a[TID];
    t16.sync();
    int x = s[(T & ~15) + 15 - t16.thread_rank()];
    x += t4.shfl_xor(x, 1);
    int y = cg::reduce(t16, x, cg::plus<int>());
    auto c = cg::coalesced_threads();
    if (T & 1) { auto odd = cg::coalesced_threads(); y += odd.shfl(x, 0) + odd.size(); odd.sync(); }
    blk.sync();
    b[TID] = y + c.size();
}
B(cg_tiles_meta, 0, _ok)
extern "C" __global__ void cg_cluster_group_ok(ARGS) { b[TID] = cg::this_grid().thread_rank(); }
// @pipe_stage2_ok ok grid=1
// @pipe_stage2_bug race grid=1 only=async
D pipe_stage2(ARGS) {
    constexpr int S = 2;
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, S> st;
    __shared__ int buf[S][128];
    auto g = cg::this_thread_block();
    auto p = cuda::make_pipeline(g, &st);
    int sum = 0, fetch = 0;
    for (int c = 0; c < 8; c++) {
        for (; fetch < 8 && fetch < c + S; fetch++) {
            p.producer_acquire();
            cuda::memcpy_async(g, buf[fetch % S], a + fetch * 128, sizeof(int) * 128, p);
            p.producer_commit();
        }
        if (!X || c != 5) p.consumer_wait();
        sum += buf[c % S][127 - T];
        if (!X || c != 5) p.consumer_release();
        else { p.consumer_wait(); p.consumer_release(); }
    }
    b[T] = sum;
}
TWIN(pipe_stage2)
// @bar_arrive_overlap_ok ok
// @bar_arrive_overlap_bug race
D bar_arrive_overlap(ARGS) {
    using bar = cuda::barrier<cuda::thread_scope_block>;
    #pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ bar br;
    __shared__ int s[128];
    if (T == 0) init(&br, blockDim.x);
    __syncthreads();
    for (int k = 0; k < 4; k++) {
        s[T] = a[TID] + k;
        auto tok = br.arrive();
        int own = s[T] * 2;
        br.wait(std::move(tok));
        b[TID] += s[127 - T] + own;
        if (!X) br.arrive_and_wait();
    }
}
TWIN(bar_arrive_overlap)
// @grid_stride_atomics_64_ok ok
// @grid_stride_atomics_64_bug race
D grid_stride_atomics_64(ARGS) {
    unsigned long long *c = (unsigned long long *)b;
    for (int i = TID; i < 1024; i += 512) {
        if (X) atomicAdd(&b[(i & 3) * 2], a[i]);  // half of the words that others add 64 bits to
        if (X == 0 || i > 700) atomicAdd(&c[i & 3], (unsigned long long)a[i]);
    }
    if (X && TID == 511) b[0] = 0;
}
TWIN(grid_stride_atomics_64)
// @volatile_shared_flag_ok ok
// @volatile_shared_flag_bug race
D volatile_shared_flag(ARGS) {
    __shared__ volatile int f;
    __shared__ int d[32];
    if (T == 0) f = 0;
    __syncthreads();
    if (T < 32) {
        d[T] = a[TID];
        __threadfence_block();
        __syncwarp();
        if (T == 0) { if (!X) __threadfence_block(); f = 1; }
        if (X) d[T] += 1;
    } else if (T < 64) {
        while (f == 0) {}
        __threadfence_block();
        b[TID] = d[63 - T];
    }
}
TWIN(volatile_shared_flag)
// @shared_ticket_ok ok
// @shared_ticket_bug race
D shared_ticket(ARGS) {
    __shared__ int next, serving, c;
    if (T == 0) next = serving = c = 0;
    __syncthreads();
    if ((T & 31) == 0) {
        int me = RB(next).fetch_add(1, RLX);
        while (RB(serving).load(X ? RLX : ACQ) != me) {}
        c = c + 1;
        RB(serving).store(me + 1, REL);
    }
    __syncthreads();
    if (T == 0) b[blockIdx.x] = c;
}
TWIN(shared_ticket)
// @lane_lock_ok ok
// @lane_lock_bug race
D lane_lock(ARGS) {
    // every lane takes the lock by itself (needs independent scheduling)
    bool done = false;
    while (!done) {
        if (atomicCAS(&b[0], 0, 1) == 0) {
            __threadfence();
            b[1]++;
            __threadfence();
            if (X) *(volatile int *)&b[0] = 0; else atomicExch(&b[0], 0);
            if (X) b[1]--;
            done = true;
        }
    }
}
TWIN(lane_lock)
// @lane_lock_spin_ok ok
D lane_lock_spin(ARGS) {
    while (atomicCAS(&b[0], 0, 1) != 0) {}
    __threadfence();
    b[1]++;
    __threadfence();
    atomicExch(&b[0], 0);
}
B(lane_lock_spin, 0, _ok)
// @two_locks_order_bug barrier
// @two_locks_order_ok ok
D two_locks_order(ARGS) {
    if (T) return;
    int f = X ? blockIdx.x & 1 : 0;
    while (atomicCAS(&b[f], 0, 1)) {}
    if (X) { atomicAdd(&b[8], 1); while (atomicAdd(&b[8], 0) < 4 && atomicAdd(&b[9], 1) < 3000) {} }
    while (atomicCAS(&b[1 - f], 0, 1)) {}
    __threadfence();
    b[4]++;
    __threadfence();
    atomicExch(&b[1 - f], 0);
    atomicExch(&b[f], 0);
}
TWIN(two_locks_order)
// @float_cas_min_ok ok
// @float_cas_min_bug race
D float_cas_min(ARGS) {
    float *f = (float *)b;
    float v = -(float)a[TID];
    int *ai = (int *)&f[TID & 7];
    int old = *ai, seen;
    while (v < __int_as_float(old)) { seen = old; old = atomicCAS(ai, seen, __float_as_int(v)); if (old == seen) break; }
    if (X && v < f[(TID + 1) & 7]) f[TID & 7] = v;
}
TWIN(float_cas_min)
// @persist_flags_ok ok
// @persist_flags_bug race
D persist_flags(ARGS) {
    // a wavefront over blocks: block k waits for k - 1, row by row
    for (int r = 0; r < 4; r++) {
        if (blockIdx.x > 0) {
            if (T == 0) { while (RI(b[blockIdx.x - 1]).load(ACQ) <= r) {} }
            if (!X) __syncthreads();
        }
        int left = blockIdx.x ? a[(blockIdx.x - 1) * 128 + 127 - T] : T;
        __syncthreads();
        if (r == 0) a[TID] = left + 1;
        __syncthreads();
        if (T == 0) RI(b[blockIdx.x]).store(r + 1, REL);
    }
}
TWIN(persist_flags)
// @relaxed_counter_then_kernel_end_ok ok
D relaxed_counter_then_kernel_end(ARGS) { RI(b[0]).fetch_add(1, RLX); RI(b[TID & 63]).fetch_max(TID, RLX); }
B(relaxed_counter_then_kernel_end, 0, _ok)
// @fence_by_other_thread_ok ok
// @fence_by_other_thread_bug race
D fence_by_other_thread(ARGS) {
    // T 5 writes, barrier, T 0 fences and publishes: cumulativity
    if (blockIdx.x == 0) {
        if (T == 5) a[5] = 77;
        if (X) { if (T == 0) { __threadfence(); RI(b[0]).store(1, RLX); } __syncthreads(); }
        else { __syncthreads(); if (T == 0) { __threadfence(); RI(b[0]).store(1, RLX); } }
    } else if (blockIdx.x == 1 && T == 3) {
        while (!RI(b[0]).load(RLX)) {}
        __threadfence();
        b[1] = a[5];
    }
}
TWIN(fence_by_other_thread)
// @rmw_chain_ok ok
D rmw_chain(ARGS) {
    // release sequence: release store, relaxed RMW by another, acquire by a third
    if (T) return;
    if (blockIdx.x == 0) { a[9] = 4; RI(b[0]).store(1, REL); }
    else if (blockIdx.x == 1) { while (RI(b[0]).load(RLX) == 0) {} RI(b[0]).fetch_add(1, RLX); }
    else if (blockIdx.x == 2) { while (RI(b[0]).load(ACQ) < 2) {} b[1] = a[9]; }
}
B(rmw_chain, 0, _ok)
// @rmw_broken_bug race
D rmw_broken(ARGS) {
    // a relaxed store in between breaks the sequence
    if (T) return;
    if (blockIdx.x == 0) { a[9] = 4; RI(b[0]).store(1, REL); }
    else if (blockIdx.x == 1) { while (RI(b[0]).load(RLX) == 0) {} RI(b[0]).store(2, RLX); }
    else if (blockIdx.x == 2) { while (RI(b[0]).load(ACQ) < 2) {} b[1] = a[9]; }
}
B(rmw_broken, 1, _bug)
