// Labelled programs: barriers, atomics, fences, flags, locks, warps, cooperative groups.
//
// Above each kernel: its name, `ok` or the tools of which at least one must find its bug, and how it is launched (one
// grid of 4 blocks of 128 threads, `a` holds 0, 1, 2 ..., `b` zeros, 1024 words each, if nothing else is said).
// nvcc -arch=compute_90 -std=c++17 -O3 -ptx synchronisation.cu -o synchronisation.ptx && gzip -9n synchronisation.ptx
#include <cooperative_groups.h>
#include <cuda/atomic>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
// ---- stencils
// @stencil_ok ok
K stencil_ok(int *a, int *b, int n) {
    __shared__ int s[130];
    int i = TID;
    int t = threadIdx.x;
    s[t + 1] = a[i];
    if (t == 0)
        s[0] = i > 0 ? a[i - 1] : 0;
    if (t == 127)
        s[129] = i + 1 < n ? a[i + 1] : 0;
    __syncthreads();
    b[i] = s[t] + s[t + 1] + s[t + 2];
}
// @stencil_nosync race
K stencil_nosync(int *a, int *b, int n) {
    __shared__ int s[130];
    int i = TID;
    int t = threadIdx.x;
    s[t + 1] = a[i];
    if (t == 0)
        s[0] = 0;
    if (t == 127)
        s[129] = 0;
    b[i] = s[t] + s[t + 1] + s[t + 2];
}
// @stencil_oob memory grid=9
K stencil_oob(int *a, int *b, int n) {
    int i = TID;
    if (i <= n)
        b[i] = a[i];
}
// @stencil_inplace race
K stencil_inplace(int *a, int *b, int n) {
    int i = TID;
    if (i > 0 && i < n - 1)
        a[i] = a[i - 1] + a[i + 1];
    b[i] = i;
}
// @stencil_uninit_halo init
K stencil_uninit_halo(int *a, int *b, int n) {
    __shared__ int s[130];
    int i = TID;
    int t = threadIdx.x;
    s[t + 1] = a[i];
    __syncthreads();
    b[i] = s[t] + s[t + 1] + s[t + 2];
}
// @stencil_loop_ok ok
K stencil_loop_ok(int *a, int *b, int n) {
    __shared__ int s[2][130];
    int t = threadIdx.x;
    int i = TID;
    s[0][t + 1] = a[i];
    s[1][t + 1] = 0;
    if (t < 2) {
        s[t][0] = 0;
        s[t][129] = 0;
    }
    __syncthreads();
    int cur = 0;
    for (int k = 0; k < 5; k++) {
        s[cur ^ 1][t + 1] = s[cur][t] + s[cur][t + 2];
        cur ^= 1;
        __syncthreads();
    }
    b[i] = s[cur][t + 1];
}
// @stencil_loop_one_barrier_same_buffer race
K stencil_loop_one_barrier_same_buffer(int *a, int *b, int n) {
    __shared__ int s[130];
    int t = threadIdx.x;
    int i = TID;
    s[t + 1] = a[i];
    if (t < 2) {
        s[t * 129] = 0;
    }
    __syncthreads();
    for (int k = 0; k < 5; k++) {
        int v = s[t] + s[t + 2];
        s[t + 1] = v;
        __syncthreads();
    }
    b[i] = s[t + 1];
}
// ---- reductions
// @reduce_ok ok
K reduce_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    for (int o = 64; o; o >>= 1) {
        if (t < o)
            s[t] += s[t + o];
        __syncthreads();
    }
    if (!t)
        atomicAdd(b, s[0]);
}
// @reduce_nosync_loop race
K reduce_nosync_loop(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    for (int o = 64; o; o >>= 1) {
        if (t < o)
            s[t] += s[t + o];
    }
    if (!t)
        atomicAdd(b, s[0]);
}
// @reduce_sync_in_if barrier,race
K reduce_sync_in_if(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    for (int o = 64; o; o >>= 1) {
        if (t < o) {
            s[t] += s[t + o];
            __syncthreads();
        }
    }
    if (!t)
        atomicAdd(b, s[0]);
}
// @reduce_warp_volatile race
K reduce_warp_volatile(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    for (int o = 64; o > 32; o >>= 1) {
        if (t < o)
            s[t] += s[t + o];
        __syncthreads();
    }
    if (t < 32) {
        volatile int *v = s;
        v[t] += v[t + 32];
        v[t] += v[t + 16];
        v[t] += v[t + 8];
        v[t] += v[t + 4];
        v[t] += v[t + 2];
        v[t] += v[t + 1];
    }
    if (!t)
        atomicAdd(b, s[0]);
}
// @reduce_warp_syncwarp_ok ok
K reduce_warp_syncwarp_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    for (int o = 64; o >= 32; o >>= 1) {
        if (t < o)
            s[t] += s[t + o];
        __syncthreads();
    }
    if (t < 32) {
        for (int o = 16; o; o >>= 1) {
            int v = s[t + o];
            __syncwarp();
            s[t] += v;
            __syncwarp();
        }
    }
    if (!t)
        atomicAdd(b, s[0]);
}
// @reduce_warp_syncwarp_half race
K reduce_warp_syncwarp_half(int *a, int *b, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 32) {
        s[t] = a[TID];
        s[t + 32] = 0;
        for (int o = 16; o; o >>= 1) {
            __syncwarp();
            s[t] += s[t + o];
        }
    }
    if (!t)
        atomicAdd(b, s[0]);
}
// @reduce_shfl_ok ok
K reduce_shfl_ok(int *a, int *b, int n) {
    __shared__ int w[4];
    int t = threadIdx.x;
    int v = a[TID];
    for (int o = 16; o; o >>= 1)
        v += __shfl_down_sync(~0u, v, o);
    if ((t & 31) == 0)
        w[t >> 5] = v;
    __syncthreads();
    if (t < 32) {
        v = t < 4 ? w[t] : 0;
        for (int o = 2; o; o >>= 1)
            v += __shfl_xor_sync(~0u, v, o);
        if (!t)
            b[blockIdx.x] = v;
    }
}
// @reduce_shfl_nosync race
K reduce_shfl_nosync(int *a, int *b, int n) {
    __shared__ int w[4];
    int t = threadIdx.x;
    int v = a[TID];
    for (int o = 16; o; o >>= 1)
        v += __shfl_down_sync(~0u, v, o);
    if ((t & 31) == 0)
        w[t >> 5] = v;
    if (t < 32) {
        v = t < 4 ? w[t] : 0;
        for (int o = 2; o; o >>= 1)
            v += __shfl_xor_sync(~0u, v, o);
        if (!t)
            b[blockIdx.x] = v;
    }
}
// @reduce_noatomic race
K reduce_noatomic(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    for (int o = 64; o; o >>= 1) {
        if (t < o)
            s[t] += s[t + o];
        __syncthreads();
    }
    if (!t)
        b[0] += s[0];
}
// @reduce_block_atomic race
K reduce_block_atomic(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    for (int o = 64; o; o >>= 1) {
        if (t < o)
            s[t] += s[t + o];
        __syncthreads();
    }
    if (!t)
        atomicAdd_block(b, s[0]);
}
// ---- histogram
// @hist_ok ok
K hist_ok(int *a, int *b, int n) {
    __shared__ int h[32];
    int t = threadIdx.x;
    if (t < 32)
        h[t] = 0;
    __syncthreads();
    atomicAdd(&h[a[TID] & 31], 1);
    __syncthreads();
    if (t < 32)
        atomicAdd(&b[t], h[t]);
}
// @hist_noatomic race
K hist_noatomic(int *a, int *b, int n) {
    __shared__ int h[32];
    int t = threadIdx.x;
    if (t < 32)
        h[t] = 0;
    __syncthreads();
    h[a[TID] & 31]++;
    __syncthreads();
    if (t < 32)
        atomicAdd(&b[t], h[t]);
}
// @hist_noinit init
K hist_noinit(int *a, int *b, int n) {
    __shared__ int h[32];
    int t = threadIdx.x;
    atomicAdd(&h[a[TID] & 31], 1);
    __syncthreads();
    if (t < 32)
        atomicAdd(&b[t], h[t]);
}
// @hist_nosync_after_init race
K hist_nosync_after_init(int *a, int *b, int n) {
    __shared__ int h[32];
    int t = threadIdx.x;
    if (t < 32)
        h[t] = 0;
    atomicAdd(&h[a[TID] & 31], 1);
    __syncthreads();
    if (t < 32)
        atomicAdd(&b[t], h[t]);
}
// @hist_nosync_before_flush race
K hist_nosync_before_flush(int *a, int *b, int n) {
    __shared__ int h[32];
    int t = threadIdx.x;
    if (t < 32)
        h[t] = 0;
    __syncthreads();
    atomicAdd(&h[a[TID] & 31], 1);
    if (t < 32)
        atomicAdd(&b[t], h[t]);
}
// @hist_global_ok ok
K hist_global_ok(int *a, int *b, int n) { atomicAdd(&b[a[TID] & 31], 1); }
// @hist_global_noatomic race
K hist_global_noatomic(int *a, int *b, int n) { b[a[TID] & 31] += 1; }
// @hist_bytes_ok ok
K hist_bytes_ok(int *a, int *b, int n) {
    unsigned char *c = (unsigned char *)b;
    int i = TID;
    c[i] = (unsigned char)a[i];
}
// @hist_bytes_race race
K hist_bytes_race(int *a, int *b, int n) {
    unsigned char *c = (unsigned char *)b;
    int i = TID;
    c[i / 2] = (unsigned char)a[i];
}
// @byte_shared_rw_ok ok
K byte_shared_rw_ok(int *a, int *b, int n) {
    __shared__ char c[128];
    int t = threadIdx.x;
    c[t] = a[TID];
    c[t] += 1;
    __syncthreads();
    b[TID] = c[127 - t];
}
// @byte_shared_race race
K byte_shared_race(int *a, int *b, int n) {
    __shared__ char c[129];
    int t = threadIdx.x;
    if (t == 0)
        c[128] = 0;
    c[t] = a[TID];
    b[TID] = c[t + 1];
}
// @bitfield_race race
struct BF {
    unsigned x : 16;
    unsigned y : 16;
};
K bitfield_race(int *a, int *b, int n) {
    BF *f = (BF *)b;
    int i = TID;
    if (i & 1)
        f[i / 2].x = i;
    else
        f[i / 2].y = i;
}
// @struct_fields_ok ok
struct SF {
    short x;
    short y;
};
K struct_fields_ok(int *a, int *b, int n) {
    SF *f = (SF *)b;
    int i = TID;
    if (i & 1)
        f[i / 2].x = i;
    else
        f[i / 2].y = i;
}
// ---- graph
// CSR ring graph: neighbours i-1,i+1
// @bfs_push_atomic_ok ok
K bfs_push_atomic_ok(int *a, int *b, int n) {
    int i = TID;
    int d = a[i];
    for (int k = -1; k <= 1; k += 2) {
        int j = (i + k) & (n - 1);
        atomicMin(&b[j], d + 1);
    }
}
// @bfs_push_plain race
K bfs_push_plain(int *a, int *b, int n) {
    int i = TID;
    int d = a[i];
    for (int k = -1; k <= 1; k += 2) {
        int j = (i + k) & (n - 1);
        if (b[j] < d + 1)
            b[j] = d + 1;
    }
}
// @bfs_flag_same_value race
K bfs_flag_same_value(int *a, int *b, int n) {
    if (a[TID] > 3)
        b[0] = 1;
}
// @bfs_level_benign race grid=8
K bfs_level_benign(int *a, int *b, int n) {
    int i = TID;
    int j = (i * 2) & (n - 1);
    if (a[i] < n)
        b[j] = 7;
}
// @pull_ok ok
K pull_ok(int *a, int *b, int n) {
    int i = TID;
    int m = 0;
    for (int k = -1; k <= 1; k += 2) {
        int v = a[(i + k) & (n - 1)];
        m = m > v ? m : v;
    }
    b[i] = m;
}
// @cc_pull_inplace race
K cc_pull_inplace(int *a, int *b, int n) {
    int i = TID;
    int m = a[i];
    for (int k = -1; k <= 1; k += 2) {
        int v = a[(i + k) & (n - 1)];
        m = m < v ? m : v;
    }
    a[i] = m;
    b[i] = m;
}
// @cc_atomic_read_ok ok
K cc_atomic_read_ok(int *a, int *b, int n) {
    int i = TID;
    int m = atomicAdd(&a[i], 0);
    for (int k = -1; k <= 1; k += 2) {
        int v = atomicAdd(&a[(i + k) & (n - 1)], 0);
        m = m < v ? m : v;
    }
    atomicMin(&a[i], m);
    b[i] = m;
}
// @cc_mixed_atomic race
K cc_mixed_atomic(int *a, int *b, int n) {
    int i = TID;
    int m = a[i];
    for (int k = -1; k <= 1; k += 2) {
        atomicMin(&a[(i + k) & (n - 1)], m);
    }
    b[i] = m;
}
// @cc_cudaatomic_relaxed_ok ok
K cc_cudaatomic_relaxed_ok(int *a, int *b, int n) {
    int i = TID;
    cuda::atomic_ref<int, cuda::thread_scope_device> me(a[i]);
    int m = me.load(cuda::memory_order_relaxed);
    for (int k = -1; k <= 1; k += 2) {
        cuda::atomic_ref<int, cuda::thread_scope_device> o(a[(i + k) & (n - 1)]);
        o.fetch_min(m, cuda::memory_order_relaxed);
    }
    b[i] = m;
}
// @cc_cudaatomic_block_scope race
K cc_cudaatomic_block_scope(int *a, int *b, int n) {
    int i = TID;
    cuda::atomic_ref<int, cuda::thread_scope_block> me(a[i]);
    int m = me.load(cuda::memory_order_relaxed);
    for (int k = -1; k <= 1; k += 2) {
        cuda::atomic_ref<int, cuda::thread_scope_block> o(a[(i + k) & (n - 1)]);
        o.fetch_min(m, cuda::memory_order_relaxed);
    }
    b[i] = m;
}
// @worklist_ok ok
K worklist_ok(int *a, int *b, int n) {
    int i = TID;
    if (a[i] & 1) {
        int p = atomicAdd(&b[0], 1);
        b[1 + p] = i;
    }
}
// @worklist_noatomic race
K worklist_noatomic(int *a, int *b, int n) {
    int i = TID;
    if (a[i] & 1) {
        int p = b[0]++;
        b[1 + (p & 511)] = i;
    }
}
// @worklist_read_early race
K worklist_read_early(int *a, int *b, int n) {
    int i = TID;
    if (a[i] & 1) {
        int p = atomicAdd(&b[0], 1);
        b[1 + p] = i;
    }
    if (i == 7)
        b[1000] = b[1];
}
// @pr_float_atomic_ok ok
K pr_float_atomic_ok(int *a, int *b, int n) {
    int i = TID;
    float v = a[i] * 0.5f;
    for (int k = -1; k <= 1; k += 2)
        atomicAdd((float *)&b[(i + k) & (n - 1)], v);
}
// @tid_guard_missing memory grid=9
K tid_guard_missing(int *a, int *b, int n) { b[TID] = a[TID]; }
// @tid_guard_ok ok grid=9
K tid_guard_ok(int *a, int *b, int n) {
    int i = TID;
    if (i < n)
        b[i] = a[i];
}
// @cond_loop_bound memory
K cond_loop_bound(int *a, int *b, int n) {
    int i = TID;
    int s = 0;
    if (i < 4)
        for (int j = i; j <= n; j++)
            s += a[j];
    b[i] = s;
}
// ---- last block reduction
__device__ unsigned int ticket;
__device__ unsigned int ticket2;
// @lastblock_ok ok
K lastblock_ok(int *a, int *b, int n) {
    __shared__ bool last;
    __shared__ int s;
    int t = threadIdx.x;
    if (!t)
        s = 0;
    __syncthreads();
    atomicAdd(&s, a[TID]);
    __syncthreads();
    if (!t) {
        b[1 + blockIdx.x] = s;
        __threadfence();
        last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && !t) {
        __threadfence();
        int r = 0;
        for (int k = 0; k < gridDim.x; k++)
            r += b[1 + k];
        b[0] = r;
    }
}
// @lastblock_volatile_ok ok
K lastblock_volatile_ok(int *a, int *b, int n) {
    __shared__ bool last;
    __shared__ int s;
    int t = threadIdx.x;
    if (!t)
        s = 0;
    __syncthreads();
    atomicAdd(&s, a[TID]);
    __syncthreads();
    volatile int *vb = b;
    if (!t) {
        vb[1 + blockIdx.x] = s;
        __threadfence();
        last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last) {
        int r = 0;
        if (t < gridDim.x)
            r = vb[1 + t];
        r = __syncthreads_or(r);
        if (!t)
            b[0] = r;
    }
}
// @lastblock_nofence race
K lastblock_nofence(int *a, int *b, int n) {
    __shared__ bool last;
    __shared__ int s;
    int t = threadIdx.x;
    if (!t)
        s = 0;
    __syncthreads();
    atomicAdd(&s, a[TID]);
    __syncthreads();
    if (!t) {
        b[1 + blockIdx.x] = s;
        last = atomicInc(&ticket2, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && !t) {
        int r = 0;
        for (int k = 0; k < gridDim.x; k++)
            r += b[1 + k];
        b[0] = r;
    }
}
// @lastblock_blockfence race
K lastblock_blockfence(int *a, int *b, int n) {
    __shared__ bool last;
    __shared__ int s;
    int t = threadIdx.x;
    if (!t)
        s = 0;
    __syncthreads();
    atomicAdd(&s, a[TID]);
    __syncthreads();
    if (!t) {
        b[1 + blockIdx.x] = s;
        __threadfence_block();
        last = atomicInc(&ticket2, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && !t) {
        __threadfence_block();
        int r = 0;
        for (int k = 0; k < gridDim.x; k++)
            r += b[1 + k];
        b[0] = r;
    }
}
// @lastblock_sdk_ok ok
// as in threadFenceReduction of the SDK: every thread of the last block reads with plain loads after __syncthreads
K lastblock_sdk_ok(int *a, int *b, int n) {
    __shared__ bool last;
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    for (int o = 64; o; o >>= 1) {
        if (t < o)
            s[t] += s[t + o];
        __syncthreads();
    }
    if (!t) {
        b[1 + blockIdx.x] = s[0];
        __threadfence();
        unsigned k = atomicInc(&ticket, gridDim.x);
        last = (k == gridDim.x - 1);
    }
    __syncthreads();
    if (last) {
        int r = 0;
        for (int k = t; k < gridDim.x; k += blockDim.x)
            r += b[1 + k];
        s[t] = r;
        __syncthreads();
        for (int o = 64; o; o >>= 1) {
            if (t < o)
                s[t] += s[t + o];
            __syncthreads();
        }
        if (!t) {
            b[0] = s[0];
            ticket = 0;
        }
    }
}
// ---- producer/consumer
// @flag_ok ok grid=2
K flag_ok(int *a, int *b, int n) {
    volatile int *f = b + 100;
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        b[0] = 42;
        __threadfence();
        *f = 1;
    } else {
        while (*f == 0)
            ;
        __threadfence();
        b[1] = b[0];
    }
}
// @flag_nofence race grid=2
K flag_nofence(int *a, int *b, int n) {
    volatile int *f = b + 100;
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        b[0] = 42;
        *f = 1;
    } else {
        while (*f == 0)
            ;
        __threadfence();
        b[1] = b[0];
    }
}
// @flag_nofence_reader race grid=2
K flag_nofence_reader(int *a, int *b, int n) {
    volatile int *f = b + 100;
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        b[0] = 42;
        __threadfence();
        *f = 1;
    } else {
        while (*f == 0)
            ;
        b[1] = b[0];
    }
}
// @flag_blockfence race grid=2
K flag_blockfence(int *a, int *b, int n) {
    volatile int *f = b + 100;
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        b[0] = 42;
        __threadfence_block();
        *f = 1;
    } else {
        while (*f == 0)
            ;
        __threadfence_block();
        b[1] = b[0];
    }
}
// @flag_nonvolatile race,barrier grid=2
K flag_nonvolatile(int *a, int *b, int n) {
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        b[0] = 42;
        __threadfence();
        b[100] = 1;
    } else {
        if (b[100] == 1) {
            __threadfence();
            b[1] = b[0];
        }
    }
}
// @flag_atomic_ok ok grid=2
K flag_atomic_ok(int *a, int *b, int n) {
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        b[0] = 42;
        __threadfence();
        atomicExch(b + 100, 1);
    } else {
        while (atomicAdd(b + 100, 0) == 0)
            ;
        __threadfence();
        b[1] = b[0];
    }
}
// @flag_cuda_atomic_ok ok grid=2
K flag_cuda_atomic_ok(int *a, int *b, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> f(b[100]);
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        b[0] = 42;
        f.store(1, cuda::memory_order_release);
    } else {
        while (f.load(cuda::memory_order_acquire) == 0)
            ;
        b[1] = b[0];
    }
}
// @flag_cuda_atomic_relaxed race grid=2
K flag_cuda_atomic_relaxed(int *a, int *b, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> f(b[100]);
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        b[0] = 42;
        f.store(1, cuda::memory_order_relaxed);
    } else {
        while (f.load(cuda::memory_order_relaxed) == 0)
            ;
        b[1] = b[0];
    }
}
// @flag_cuda_atomic_blockscope race grid=2
K flag_cuda_atomic_blockscope(int *a, int *b, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_block> f(b[100]);
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        b[0] = 42;
        f.store(1, cuda::memory_order_release);
    } else {
        while (f.load(cuda::memory_order_acquire) == 0)
            ;
        b[1] = b[0];
    }
}
// @flag_whole_block_ok ok grid=2
K flag_whole_block_ok(int *a, int *b, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        b[t] = a[t];
        __threadfence();
        __syncthreads();
        if (!t)
            atomicExch(b + 500, 1);
    } else {
        if (!t) {
            while (atomicAdd(b + 500, 0) == 0)
                ;
            __threadfence();
        }
        __syncthreads();
        b[600 + t] = b[127 - t];
    }
}
// @flag_whole_block_nosync race grid=2
K flag_whole_block_nosync(int *a, int *b, int n) {
    int t = threadIdx.x;
    if (blockIdx.x == 0) {
        b[t] = a[t];
        __threadfence();
        if (!t)
            atomicExch(b + 500, 1);
    } else {
        if (!t) {
            while (atomicAdd(b + 500, 0) == 0)
                ;
            __threadfence();
        }
        __syncthreads();
        b[600 + t] = b[127 - t];
    }
}
// @spin_never barrier grid=1
K spin_never(int *a, int *b, int n) {
    volatile int *f = b + 100;
    if (threadIdx.x == 0) {
        while (*f == 0)
            ;
    }
    b[0] = 1;
}
// @mp_queue_ok ok grid=2
K mp_queue_ok(int *a, int *b, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> head(b[0]), tail(b[32]);
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        for (int k = 0; k < 50; k++) {
            while (head.load(cuda::memory_order_relaxed) - tail.load(cuda::memory_order_acquire) >= 8)
                ;
            b[64 + (k & 7)] = k;
            head.store(k + 1, cuda::memory_order_release);
        }
    } else {
        int s = 0;
        for (int k = 0; k < 50; k++) {
            while (head.load(cuda::memory_order_acquire) <= k)
                ;
            s += b[64 + (k & 7)];
            tail.store(k + 1, cuda::memory_order_release);
        }
        b[200] = s;
    }
}
// @mp_queue_tail_relaxed race grid=2
K mp_queue_tail_relaxed(int *a, int *b, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> head(b[0]), tail(b[32]);
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        for (int k = 0; k < 50; k++) {
            while (head.load(cuda::memory_order_relaxed) - tail.load(cuda::memory_order_acquire) >= 8)
                ;
            b[64 + (k & 7)] = k;
            head.store(k + 1, cuda::memory_order_release);
        }
    } else {
        int s = 0;
        for (int k = 0; k < 50; k++) {
            while (head.load(cuda::memory_order_acquire) <= k)
                ;
            s += b[64 + (k & 7)];
            tail.store(k + 1, cuda::memory_order_relaxed);
        }
        b[200] = s;
    }
}
// ---- locks
// @lock_ok ok
K lock_ok(int *a, int *b, int n) {
    if (threadIdx.x)
        return;
    while (atomicCAS(b + 100, 0, 1) != 0)
        ;
    __threadfence();
    b[0] += 1;
    __threadfence();
    atomicExch(b + 100, 0);
}
// @lock_nofence race
K lock_nofence(int *a, int *b, int n) {
    if (threadIdx.x)
        return;
    while (atomicCAS(b + 100, 0, 1) != 0)
        ;
    b[0] += 1;
    atomicExch(b + 100, 0);
}
// @lock_blockscope race
K lock_blockscope(int *a, int *b, int n) {
    if (threadIdx.x)
        return;
    while (atomicCAS_block(b + 100, 0, 1) != 0)
        ;
    __threadfence();
    b[0] += 1;
    __threadfence();
    atomicExch_block(b + 100, 0);
}
// @lock_unlock_plain_store race
K lock_unlock_plain_store(int *a, int *b, int n) {
    if (threadIdx.x)
        return;
    while (atomicCAS(b + 100, 0, 1) != 0)
        ;
    __threadfence();
    b[0] += 1;
    __threadfence();
    b[100] = 0;
}
// @lock_two_locks race
K lock_two_locks(int *a, int *b, int n) {
    if (threadIdx.x)
        return;
    int l = 100 + (blockIdx.x & 1) * 8;
    while (atomicCAS(b + l, 0, 1) != 0)
        ;
    __threadfence();
    b[0] += 1;
    __threadfence();
    atomicExch(b + l, 0);
}
// @lock_per_thread_done_ok ok
K lock_per_thread_done_ok(int *a, int *b, int n) {
    bool done = false;
    while (!done) {
        if (atomicCAS(b + 100, 0, 1) == 0) {
            __threadfence();
            b[0] += 1;
            __threadfence();
            atomicExch(b + 100, 0);
            done = true;
        }
    }
}
// @lock_read_outside race
K lock_read_outside(int *a, int *b, int n) {
    if (threadIdx.x)
        return;
    while (atomicCAS(b + 100, 0, 1) != 0)
        ;
    __threadfence();
    b[0] += 1;
    __threadfence();
    atomicExch(b + 100, 0);
    b[10 + blockIdx.x] = b[0];
}
// @lock_cuda_atomic_ok ok
K lock_cuda_atomic_ok(int *a, int *b, int n) {
    if (threadIdx.x)
        return;
    cuda::atomic_ref<int, cuda::thread_scope_device> l(b[100]);
    int e = 0;
    while (!l.compare_exchange_weak(e, 1, cuda::memory_order_acquire, cuda::memory_order_relaxed))
        e = 0;
    b[0] += 1;
    l.store(0, cuda::memory_order_release);
}
// @lock_shared_ok ok grid=1
K lock_shared_ok(int *a, int *b, int n) {
    __shared__ int l, c;
    if (!threadIdx.x) {
        l = 0;
        c = 0;
    }
    __syncthreads();
    bool d = false;
    while (!d) {
        if (atomicCAS(&l, 0, 1) == 0) {
            __threadfence_block();
            c = c + 1;
            __threadfence_block();
            atomicExch(&l, 0);
            d = true;
        }
    }
    __syncthreads();
    if (!threadIdx.x)
        b[0] = c;
}
// @lock_shared_nofence race grid=1
K lock_shared_nofence(int *a, int *b, int n) {
    __shared__ int l, c;
    if (!threadIdx.x) {
        l = 0;
        c = 0;
    }
    __syncthreads();
    bool d = false;
    while (!d) {
        if (atomicCAS(&l, 0, 1) == 0) {
            c = c + 1;
            atomicExch(&l, 0);
            d = true;
        }
    }
    __syncthreads();
    if (!threadIdx.x)
        b[0] = c;
}
// @ticket_lock_ok ok
K ticket_lock_ok(int *a, int *b, int n) {
    if (threadIdx.x)
        return;
    int me = atomicAdd(b + 100, 1);
    volatile int *s = b + 101;
    while (*s != me)
        ;
    __threadfence();
    b[0] += me;
    __threadfence();
    *s = me + 1;
}
// @cas_float_max_ok ok
K cas_float_max_ok(int *a, int *b, int n) {
    int i = TID;
    int old = b[0], as;
    do {
        as = old;
        old = atomicCAS(b, as, as > a[i] ? as : a[i]);
    } while (as != old);
}
// @atomic_dbl_cas_ok ok
K atomic_dbl_cas_ok(int *a, int *b, int n) {
    unsigned long long *p = (unsigned long long *)b;
    unsigned long long old = *((volatile unsigned long long *)p), as;
    do {
        as = old;
        old = atomicCAS(p, as, __double_as_longlong(__longlong_as_double(as) + 1.0));
    } while (as != old);
}
// ---- warp
// @warp_exchange_ok ok
K warp_exchange_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncwarp();
    b[TID] = s[t ^ 1];
}
// @warp_exchange_nosync race
K warp_exchange_nosync(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    b[TID] = s[t ^ 1];
}
// @warp_exchange_across race
K warp_exchange_across(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncwarp();
    b[TID] = s[t ^ 32];
}
// @warp_divergent_syncwarp_ok ok
K warp_divergent_syncwarp_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    if ((t & 31) < 16)
        s[t] = a[TID];
    __syncwarp();
    if ((t & 31) >= 16)
        s[t] = s[t - 16];
    __syncwarp();
    b[TID] = s[t];
}
// @warp_divergent_branches race
K warp_divergent_branches(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    if ((t & 31) < 16)
        s[t] = a[TID];
    else
        s[t] = s[t - 16];
    __syncwarp();
    b[TID] = s[t];
}
// @warp_partial_mask race
K warp_partial_mask(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    if ((t & 31) < 16)
        __syncwarp(0xffff);
    else
        __syncwarp(0xffff0000);
    b[TID] = s[t ^ 16];
}
// @warp_shfl_not_sync race
K warp_shfl_not_sync(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    int x = __shfl_xor_sync(~0u, t, 1);
    b[TID] = s[x];
}
// @warp_ballot_not_sync race
K warp_ballot_not_sync(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    unsigned m = __ballot_sync(~0u, t & 1);
    b[TID] = s[t ^ 1] + m;
}
// @shfl_wrong_mask barrier
K shfl_wrong_mask(int *a, int *b, int n) {
    int t = threadIdx.x;
    int v = a[TID];
    if ((t & 31) < 16)
        v = __shfl_sync(0xff, v, 0);
    b[TID] = v;
}
// @shfl_mask_divergent_hang barrier
K shfl_mask_divergent_hang(int *a, int *b, int n) {
    int t = threadIdx.x;
    int v = a[TID];
    if ((t & 31) < 16)
        v = __shfl_sync(~0u, v, 0);
    else
        v += a[(TID + 1) & (n - 1)];
    b[TID] = v;
    if (n == 3)
        __syncwarp();
}
// @activemask_ok ok
K activemask_ok(int *a, int *b, int n) {
    int i = TID;
    if (a[i] & 1) {
        unsigned m = __activemask();
        int l = __ffs(m) - 1;
        int p = 0;
        if ((threadIdx.x & 31) == l)
            p = atomicAdd(b, __popc(m));
        p = __shfl_sync(m, p, l);
        b[1 + p + __popc(m & ((1u << (threadIdx.x & 31)) - 1))] = i;
    }
}
// @match_any_ok ok
K match_any_ok(int *a, int *b, int n) {
    int k = a[TID] & 3;
    unsigned m = __match_any_sync(~0u, k);
    if ((threadIdx.x & 31) == __ffs(m) - 1)
        atomicAdd(&b[k], __popc(m));
}
// ---- barriers
// @sync_divergent barrier
K sync_divergent(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = 0;
    if (t < 64) {
        s[t] = a[TID];
        __syncthreads();
    }
    b[TID] = s[t];
}
// @sync_divergent_warp barrier
K sync_divergent_warp(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = 0;
    if (t & 1) {
        s[t] = a[TID];
        __syncthreads();
    }
    b[TID] = s[t];
}
// @sync_both_branches barrier
K sync_both_branches(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t & 1) {
        s[t] = a[TID];
        __syncthreads();
        b[TID] = s[t ^ 1];
    } else {
        s[t] = 2;
        __syncthreads();
        b[TID] = s[t ^ 1] + 1;
    }
}
// @sync_early_return_ok ok grid=9
K sync_early_return_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int i = TID;
    if (blockIdx.x >= 8)
        return;
    s[threadIdx.x] = a[i];
    __syncthreads();
    b[i] = s[127 - threadIdx.x];
}
// @sync_loop_uneven barrier
K sync_loop_uneven(int *a, int *b, int n) {
    int t = threadIdx.x;
    for (int k = 0; k < (t < 64 ? 3 : 4); k++) {
        __syncthreads();
    }
    b[TID] = a[TID];
}
// @sync_count_ok ok
K sync_count_ok(int *a, int *b, int n) {
    int c = __syncthreads_count(a[TID] & 1);
    b[TID] = c;
}
// @named_barrier_ok ok
K named_barrier_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    if (t < 64)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 2, 64;" ::: "memory");
    b[TID] = s[t ^ 32];
}
// @named_barrier_wrong race
K named_barrier_wrong(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    if (t < 64)
        asm volatile("bar.sync 1, 64;" ::: "memory");
    else
        asm volatile("bar.sync 2, 64;" ::: "memory");
    b[TID] = s[t ^ 64];
}
// @named_barrier_count barrier
K named_barrier_count(int *a, int *b, int n) {
    int t = threadIdx.x;
    if (t < 64)
        asm volatile("bar.sync 1, 96;" ::: "memory");
    b[TID] = a[TID];
}
// @named_arrive_sync_ok ok grid=1
K named_arrive_sync_ok(int *a, int *b, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 64) {
        for (int k = 0; k < 4; k++) {
            if (k)
                asm volatile("bar.sync 2, 128;" ::: "memory");
            s[t] = a[t] + k;
            __threadfence_block();
            asm volatile("bar.arrive 1, 128;" ::: "memory");
        }
    } else {
        for (int k = 0; k < 4; k++) {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            b[(t - 64) + 64 * k] = s[63 - (t - 64)];
            if (k < 3)
                asm volatile("bar.arrive 2, 128;" ::: "memory");
        }
    }
}
// @named_arrive_no_back race grid=1
K named_arrive_no_back(int *a, int *b, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    if (t < 64) {
        for (int k = 0; k < 4; k++) {
            s[t] = a[t] + k;
            asm volatile("bar.sync 1, 128;" ::: "memory");
        }
    } else {
        for (int k = 0; k < 4; k++) {
            asm volatile("bar.sync 1, 128;" ::: "memory");
            b[(t - 64) + 64 * k] = s[63 - (t - 64)];
        }
    }
}
// @cg_block_ok ok
K cg_block_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    auto g = cg::this_thread_block();
    s[threadIdx.x] = a[TID];
    g.sync();
    b[TID] = s[127 - threadIdx.x];
}
// @cg_tile_ok ok
K cg_tile_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    auto g = cg::this_thread_block();
    auto t = cg::tiled_partition<16>(g);
    s[threadIdx.x] = a[TID];
    t.sync();
    b[TID] = s[threadIdx.x ^ 8];
}
// @cg_tile_too_small race
K cg_tile_too_small(int *a, int *b, int n) {
    __shared__ int s[128];
    auto g = cg::this_thread_block();
    auto t = cg::tiled_partition<8>(g);
    s[threadIdx.x] = a[TID];
    t.sync();
    b[TID] = s[threadIdx.x ^ 8];
}
// @cg_coalesced_ok ok
K cg_coalesced_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    s[threadIdx.x] = 0;
    __syncwarp();
    if (a[TID] % 3 == 0) {
        auto g = cg::coalesced_threads();
        s[threadIdx.x] = g.thread_rank();
        g.sync();
    }
    __syncwarp();
    b[TID] = s[threadIdx.x ^ 1];
}
// @cg_grid_ok ok coop=1
K cg_grid_ok(int *a, int *b, int n) {
    auto g = cg::this_grid();
    int i = TID;
    b[i] = a[i];
    g.sync();
    a[i] = b[n / 2 - 1 - i];
}
// @cg_grid_nosync race coop=1
K cg_grid_nosync(int *a, int *b, int n) {
    int i = TID;
    b[i] = a[i];
    __syncthreads();
    a[i] = b[n / 2 - 1 - i];
}
// @cg_grid_loop_ok ok coop=1
K cg_grid_loop_ok(int *a, int *b, int n) {
    auto g = cg::this_grid();
    int i = TID;
    int m = blockDim.x * gridDim.x;
    for (int k = 0; k < 6; k++) {
        int v = (k & 1 ? b : a)[(i + 1) % m];
        (k & 1 ? a : b)[i] = v;
        g.sync();
    }
}
// @cg_grid_loop_inplace race coop=1
K cg_grid_loop_inplace(int *a, int *b, int n) {
    auto g = cg::this_grid();
    int i = TID;
    int m = blockDim.x * gridDim.x;
    for (int k = 0; k < 6; k++) {
        int v = a[(i + 1) % m];
        a[i] = v;
        g.sync();
    }
    b[i] = 0;
}
// @cg_reduce_tile_ok ok
K cg_reduce_tile_ok(int *a, int *b, int n) {
    auto t = cg::tiled_partition<32>(cg::this_thread_block());
    int v = a[TID];
    for (int o = 16; o; o /= 2)
        v += t.shfl_down(v, o);
    if (t.thread_rank() == 0)
        atomicAdd(b, v);
}
