// Labelled programs in the style of the public suites: graph codes after Indigo, scoped races after ScoRD and iGuard,
// reused scratch memory after HiRace, loops after DataRaceBench, the samples of compute-sanitizer's manual, and CUDA's
// samples with a fault planted. All are written for this corpus.
//
// Above each kernel: its name, `ok` or the tools of which at least one must find its bug, and how it is launched (one
// grid of 4 blocks of 128 threads, `a` holds 0, 1, 2 ..., `b` zeros, 1024 words each, if nothing else is said).
// nvcc -arch=compute_90 -std=c++17 -O3 -ptx suites.cu -o suites.ptx && gzip -9n suites.ptx
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
#define V 256
// Older chips have no instruction for these.
__device__ __forceinline__ int warp_max(int x) {
    for (int o = 16; o; o >>= 1) x = max(x, __shfl_xor_sync(~0u, x, o));
    return x;
}
__device__ __forceinline__ int warp_sum(int x) {
    for (int o = 16; o; o >>= 1) x += __shfl_xor_sync(~0u, x, o);
    return x;
}
// A graph of V vertices with four neighbours each; no list of edges is needed.
__device__ __forceinline__ int nbr(int v, int k) { return (v * 5 + k * 37 + 1) % V; }

// ---- graph codes
// @g_cond_edge_ok ok
K g_cond_edge_ok(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    for (int k = 0; k < 4; k++)
        if (v < nbr(v, k)) atomicAdd(&b[0], 1);
}
// @g_cond_edge_atomic_bug race
K g_cond_edge_atomic_bug(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    for (int k = 0; k < 4; k++)
        if (v < nbr(v, k)) b[0]++;
}
// @g_cond_vertex_ok ok
K g_cond_vertex_ok(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    int m = a[v];
    for (int k = 0; k < 4; k++) m = max(m, a[nbr(v, k)]);
    if (m > a[v]) atomicMax(&b[0], m);
}
// @g_cond_vertex_guard_bug race
K g_cond_vertex_guard_bug(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    int m = a[v];
    for (int k = 0; k < 4; k++) m = max(m, a[nbr(v, k)]);
    if (b[0] < m) atomicMax(&b[0], m);
}
// @g_guard_volatile_ok ok
K g_guard_volatile_ok(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    int m = a[v];
    if (*(volatile int *)&b[0] < m) atomicMax(&b[0], m);
}
// @g_bounds_bug memory grid=9
K g_bounds_bug(int *a, int *b, int n) {
    int v = TID;
    int sum = 0;
    for (int k = v; k <= v + 4; k++) sum += a[k];
    if (v < n) b[v] = sum;
}
// @g_push_ok ok
K g_push_ok(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    for (int k = 0; k < 4; k++) atomicAdd(&b[nbr(v, k)], a[v]);
}
// @g_push_bug race
K g_push_bug(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    for (int k = 0; k < 4; k++) b[nbr(v, k)] += a[v];
}
// @g_pull_ok ok
K g_pull_ok(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    int sum = 0;
    for (int k = 0; k < 4; k++) sum += a[nbr(v, k)];
    b[v] = sum;
}
// @g_pull_in_place race
K g_pull_in_place(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    int m = a[v];
    for (int k = 0; k < 4; k++) m = max(m, a[nbr(v, k)]);
    a[v] = m;
}
// @g_worklist_ok ok
K g_worklist_ok(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    if (a[v] % 3 == 0) b[1 + atomicAdd(&b[0], 1)] = v;
}
// @g_worklist_race_bug race
K g_worklist_race_bug(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    if (a[v] % 3 == 0) {
        int at = b[0];
        b[0] = at + 1;
        b[1 + at] = v;
    }
}
// @g_worklist_warp_ok ok
K g_worklist_warp_ok(int *a, int *b, int n) {
    int v = TID;
    bool want = a[v] % 3 == 0;
    unsigned all = __ballot_sync(~0u, want);
    int lane = threadIdx.x & 31, at = 0;
    if (lane == 0 && all) at = atomicAdd(&b[0], __popc(all));
    at = __shfl_sync(~0u, at, 0);
    if (want) b[1 + at + __popc(all & ((1u << lane) - 1))] = v;
}
// @g_union_find_ok ok
K g_union_find_ok(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    int w = nbr(v, 0);
    auto find = [&](int x) {
        int p = atomicAdd(&a[x], 0);
        while (p != x) { x = p; p = atomicAdd(&a[x], 0); }
        return x;
    };
    for (;;) {
        int x = find(v), y = find(w);
        if (x == y) break;
        int high = max(x, y), low = min(x, y);
        if (atomicCAS(&a[high], high, low) == high) break;
    }
    b[v] = 1;
}
// @g_union_find_plain race
K g_union_find_plain(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    int x = v, y = nbr(v, 0);
    while (a[x] != x) x = a[x];
    while (a[y] != y) y = a[y];
    if (x != y) a[max(x, y)] = min(x, y);
    b[v] = 1;
}
// @g_bfs_cas_ok ok
K g_bfs_cas_ok(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    if (a[v] % 16 == 0)
        for (int k = 0; k < 4; k++)
            if (atomicCAS(&b[nbr(v, k)], 0, 7) == 0) atomicAdd(&b[V], 1);
}
// @g_bfs_check_then_set race
K g_bfs_check_then_set(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    if (a[v] % 16 < 8)
        for (int k = 0; k < 4; k++)
            if (b[nbr(v, k)] == 0) b[nbr(v, k)] = v + 1;
}
// @g_mis_ok ok
K g_mis_ok(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    bool best = true;
    for (int k = 0; k < 4; k++) best &= a[v] >= a[nbr(v, k)];
    if (best) b[v] = 1;
}
// @g_mis_status_race race
K g_mis_status_race(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    bool free = true;
    for (int k = 0; k < 4; k++) free &= b[nbr(v, k)] != 1;
    b[v] = free ? 1 : 2;
}
// @g_mis_volatile_ok ok
K g_mis_volatile_ok(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    volatile int *s = b;
    bool free = true;
    for (int k = 0; k < 4; k++) free &= s[nbr(v, k)] != 1;
    s[v] = free ? 1 : 2;
}
// @g_pagerank_atomic_float_ok ok
K g_pagerank_atomic_float_ok(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    for (int k = 0; k < 4; k++) atomicAdd((float *)&b[nbr(v, k)], 0.25f * a[v]);
}
// @g_color_two_phase_ok ok block=256 grid=1
K g_color_two_phase_ok(int *a, int *b, int n) {
    __shared__ int color[V];
    int v = threadIdx.x;
    color[v] = v & 3;
    __syncthreads();
    for (int round = 0; round < 3; round++) {
        int c = color[v];
        for (int k = 0; k < 4; k++) c += color[nbr(v, k)] == c;
        __syncthreads();
        color[v] = c;
        __syncthreads();
    }
    b[v] = color[v];
}
// @g_color_one_phase race block=256 grid=1
K g_color_one_phase(int *a, int *b, int n) {
    __shared__ int color[V];
    int v = threadIdx.x;
    color[v] = v & 3;
    __syncthreads();
    for (int round = 0; round < 3; round++) {
        int c = color[v];
        for (int k = 0; k < 4; k++) c += color[nbr(v, k)] == c;
        color[v] = c;
        __syncthreads();
    }
    b[v] = color[v];
}
// @g_block_reduce_sync_bug race
K g_block_reduce_sync_bug(int *a, int *b, int n) {
    __shared__ int part[4];
    int t = threadIdx.x;
    int m = warp_max(a[TID]);
    if (t % 32 == 0) part[t / 32] = m;
    if (t < 32) {
        m = warp_max(t < 4 ? part[t] : 0);
        if (t == 0) atomicMax(b, m);
    }
}
// @g_sssp_relax_ok ok
K g_sssp_relax_ok(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    for (int k = 0; k < 4; k++) {
        int d = atomicAdd(&b[v], 0) + 1 + k;
        atomicMin(&b[nbr(v, k)], d);
    }
}
// @g_sssp_plain_distance race
K g_sssp_plain_distance(int *a, int *b, int n) {
    int v = TID;
    if (v >= V) return;
    for (int k = 0; k < 4; k++) atomicMin(&b[nbr(v, k)], b[v] - 1 - k);
}
// @g_changed_flag race
K g_changed_flag(int *a, int *b, int n) {
    int v = TID;
    if (v < V && a[v] > 3) b[0] = 1;
}

// ---- scratch memory used again
__device__ int block_sum(int x, int *scratch) {
    int t = threadIdx.x;
    for (int o = 16; o; o >>= 1) x += __shfl_down_sync(~0u, x, o);
    if (t % 32 == 0) scratch[t / 32] = x;
    __syncthreads();
    x = scratch[0] + scratch[1] + scratch[2] + scratch[3];
    return x;
}
// @scratch_reused_ok ok
K scratch_reused_ok(int *a, int *b, int n) {
    __shared__ int scratch[4];
    int x = block_sum(a[TID], scratch);
    __syncthreads();
    int y = block_sum(a[TID] * x, scratch);
    b[TID] = y;
}
// @scratch_reused_without_sync race
K scratch_reused_without_sync(int *a, int *b, int n) {
    __shared__ int scratch[4];
    int x = block_sum(a[TID], scratch);
    int y = block_sum(a[TID] * x, scratch);
    b[TID] = y;
}
// @scratch_two_ok ok
K scratch_two_ok(int *a, int *b, int n) {
    __shared__ int scratch[2][4];
    int x = block_sum(a[TID], scratch[0]);
    int y = block_sum(a[TID] * x, scratch[1]);
    b[TID] = y;
}
// @broadcast_slot_reused race
K broadcast_slot_reused(int *a, int *b, int n) {
    __shared__ int next;
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        if (threadIdx.x == 0) next = atomicAdd(&b[0], 1);
        __syncthreads();
        sum += next;
    }
    b[1 + TID] = sum;
}
// @broadcast_slot_two_syncs_ok ok
K broadcast_slot_two_syncs_ok(int *a, int *b, int n) {
    __shared__ int next;
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        if (threadIdx.x == 0) next = atomicAdd(&b[0], 1);
        __syncthreads();
        sum += next;
        __syncthreads();
    }
    b[1 + TID] = sum;
}
// @broadcast_alternating_ok ok
K broadcast_alternating_ok(int *a, int *b, int n) {
    __shared__ int next[2];
    int sum = 0;
    for (int i = 0; i < 6; i++) {
        if (threadIdx.x == 0) next[i & 1] = i;
        __syncthreads();
        sum += next[i & 1];
    }
    b[TID] = sum;
}
// @loop_exit_flag_race race
K loop_exit_flag_race(int *a, int *b, int n) {
    __shared__ int again;
    int x = a[TID] & 7;
    do {
        if (threadIdx.x == 0) again = 0;
        __syncthreads();
        if (x > 0) {
            x--;
            atomicExch(&again, 1);
        }
        __syncthreads();
    } while (again);
    b[TID] = x;
}
// @loop_exit_flag_ok ok
K loop_exit_flag_ok(int *a, int *b, int n) {
    __shared__ int again;
    int x = a[TID] & 7;
    bool on;
    do {
        __syncthreads();
        if (threadIdx.x == 0) again = 0;
        __syncthreads();
        if (x > 0) {
            x--;
            atomicExch(&again, 1);
        }
        __syncthreads();
        on = again;
    } while (on);
    b[TID] = x;
}
// @loop_exit_or_ok ok
K loop_exit_or_ok(int *a, int *b, int n) {
    int x = a[TID] & 7;
    while (__syncthreads_or(x > 0)) x -= x > 0;
    b[TID] = x;
}

// ---- scopes
// @scope_steal_ok ok
K scope_steal_ok(int *a, int *b, int n) {
    // A queue of each block at b[4 * block]: others steal from it at device scope.
    if (threadIdx.x != 0) return;
    for (int q = 0; q < 4; q++) {
        int *head = &b[4 * ((blockIdx.x + q) % 4)];
        while (atomicAdd(head, 1) < 5) atomicAdd(&b[64], 1);
    }
}
// @scope_steal_block race
K scope_steal_block(int *a, int *b, int n) {
    if (threadIdx.x != 0) return;
    for (int q = 0; q < 4; q++) {
        int *head = &b[4 * ((blockIdx.x + q) % 4)];
        while ((q == 0 ? atomicAdd_block(head, 1) : atomicAdd(head, 1)) < 5) atomicAdd(&b[64], 1);
    }
}
// @scope_counter_block race
K scope_counter_block(int *a, int *b, int n) { atomicAdd_block(&b[0], 1); }
// @scope_counter_per_block_ok ok
K scope_counter_per_block_ok(int *a, int *b, int n) { atomicAdd_block(&b[blockIdx.x], 1); }
// @scope_counter_mixed race
K scope_counter_mixed(int *a, int *b, int n) {
    if (blockIdx.x == 0) atomicAdd_block(&b[0], 1);
    else atomicAdd(&b[0], 1);
}
// @scope_publish_block_fence race
K scope_publish_block_fence(int *a, int *b, int n) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        b[1] = 42;
        __threadfence_block();
        atomicExch(&b[0], 1);
    } else if (blockIdx.x == 1) {
        while (atomicAdd(&b[0], 0) == 0) {}
        __threadfence();
        b[2] = b[1];
    }
}
// @scope_publish_ok ok
K scope_publish_ok(int *a, int *b, int n) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        b[1] = 42;
        __threadfence();
        atomicExch(&b[0], 1);
    } else if (blockIdx.x == 1) {
        while (atomicAdd(&b[0], 0) == 0) {}
        __threadfence();
        b[2] = b[1];
    }
}
// @scope_rule110_ok ok coop=1
K scope_rule110_ok(int *a, int *b, int n) {
    cg::grid_group grid = cg::this_grid();
    int i = TID, N = 512;
    b[i] = a[i] & 1;
    grid.sync();
    for (int s = 0; s < 3; s++) {
        int *from = b + (s & 1) * N, *to = b + (~s & 1) * N;
        int p = from[(i + N - 1) % N] * 4 + from[i] * 2 + from[(i + 1) % N];
        to[i] = 110 >> p & 1;
        grid.sync();
    }
}
// @scope_rule110_block_sync race
K scope_rule110_block_sync(int *a, int *b, int n) {
    int i = TID, N = 512;
    b[i] = a[i] & 1;
    __syncthreads();
    for (int s = 0; s < 3; s++) {
        int *from = b + (s & 1) * N, *to = b + (~s & 1) * N;
        int p = from[(i + N - 1) % N] * 4 + from[i] * 2 + from[(i + 1) % N];
        to[i] = 110 >> p & 1;
        __syncthreads();
    }
}
// @scope_own_barrier_ok ok
K scope_own_barrier_ok(int *a, int *b, int n) {
    // The grid's barrier by hand: arrive, wait, with fences of the device.
    b[16 + TID] = TID;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&b[0], 1);
        while (*(volatile int *)&b[0] < 4) {}
        __threadfence();
    }
    __syncthreads();
    a[TID] = b[16 + (TID + 128) % 512];
}
// @scope_own_barrier_without_fence race
K scope_own_barrier_without_fence(int *a, int *b, int n) {
    b[16 + TID] = TID;
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&b[0], 1);
        while (*(volatile int *)&b[0] < 4) {}
    }
    __syncthreads();
    a[TID] = b[16 + (TID + 128) % 512];
}
// @scope_cuda_barrier_wrong race
K scope_cuda_barrier_wrong(int *a, int *b, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_block> flag(b[0]);
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        b[1] = 1;
        flag.store(1, cuda::memory_order_release);
    } else if (blockIdx.x == 1) {
        while (flag.load(cuda::memory_order_acquire) == 0) {}
        b[2] = b[1];
    }
}
// @scope_release_acquire_ok ok
K scope_release_acquire_ok(int *a, int *b, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> flag(b[0]);
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        b[1] = 1;
        flag.store(1, cuda::memory_order_release);
    } else if (blockIdx.x == 1) {
        while (flag.load(cuda::memory_order_acquire) == 0) {}
        b[2] = b[1];
    }
}
// @scope_chain_ok ok
K scope_chain_ok(int *a, int *b, int n) {
    // Block i hands on to block i + 1 what all before it have done.
    if (threadIdx.x != 0) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> turn(b[0]);
    while (turn.load(cuda::memory_order_acquire) != (int)blockIdx.x) {}
    b[1] += a[blockIdx.x];
    turn.store(blockIdx.x + 1, cuda::memory_order_release);
}
// @scope_chain_relaxed race
K scope_chain_relaxed(int *a, int *b, int n) {
    if (threadIdx.x != 0) return;
    cuda::atomic_ref<int, cuda::thread_scope_device> turn(b[0]);
    while (turn.load(cuda::memory_order_relaxed) != (int)blockIdx.x) {}
    b[1] += a[blockIdx.x];
    turn.store(blockIdx.x + 1, cuda::memory_order_relaxed);
}

// ---- locks
// @lock_try_ok ok
K lock_try_ok(int *a, int *b, int n) {
    if (threadIdx.x % 32 != 0) return;
    bool done = false;
    while (!done) {
        if (atomicCAS(&b[0], 0, 1) == 0) {
            __threadfence();
            b[1] += 1;
            __threadfence();
            atomicExch(&b[0], 0);
            done = true;
        }
    }
}
// @lock_fence_after_release race
K lock_fence_after_release(int *a, int *b, int n) {
    if (threadIdx.x % 32 != 0) return;
    bool done = false;
    while (!done) {
        if (atomicCAS(&b[0], 0, 1) == 0) {
            __threadfence();
            b[1] += 1;
            atomicExch(&b[0], 0);
            __threadfence();
            done = true;
        }
    }
}
// @lock_two_buckets_ok ok
K lock_two_buckets_ok(int *a, int *b, int n) {
    int which = threadIdx.x / 32 & 1;
    if (threadIdx.x % 32 != 0) return;
    while (atomicCAS(&b[which], 0, 1) != 0) {}
    __threadfence();
    b[4 + which] += 1;
    __threadfence();
    atomicExch(&b[which], 0);
}
// @lock_wrong_bucket race
K lock_wrong_bucket(int *a, int *b, int n) {
    int which = threadIdx.x / 32 & 1;
    if (threadIdx.x % 32 != 0) return;
    while (atomicCAS(&b[which], 0, 1) != 0) {}
    __threadfence();
    b[4] += 1;
    __threadfence();
    atomicExch(&b[which], 0);
}
// @lock_by_block_thread0_ok ok
K lock_by_block_thread0_ok(int *a, int *b, int n) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&b[0], 0, 1) != 0) {}
        __threadfence();
    }
    __syncthreads();
    b[16 + threadIdx.x] += 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(&b[0], 0);
    }
}
// @lock_by_block_no_sync_before_release race
K lock_by_block_no_sync_before_release(int *a, int *b, int n) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&b[0], 0, 1) != 0) {}
        __threadfence();
    }
    __syncthreads();
    b[16 + threadIdx.x] += 1;
    if (threadIdx.x == 0) {
        __threadfence();
        atomicExch(&b[0], 0);
    }
}
// @lock_left_locked barrier,race grid=2
K lock_left_locked(int *a, int *b, int n) {
    if (threadIdx.x == 0) {
        while (atomicCAS(&b[0], 0, 1) != 0) {}
        __threadfence();
        b[1] += 1;
        __threadfence();
        if (b[1] != 1) atomicExch(&b[0], 0);
    }
}

// ---- compare-and-swap from a guess
// @cas_double_add_ok ok
K cas_double_add_ok(int *a, int *b, int n) {
    unsigned long long *address = (unsigned long long *)b;
    unsigned long long old = *address, assumed;
    do {
        assumed = old;
        old = atomicCAS(address, assumed, __double_as_longlong(1.0 + __longlong_as_double(assumed)));
    } while (assumed != old);
}
// @cas_float_max_guess_ok ok
K cas_float_max_guess_ok(int *a, int *b, int n) {
    int old = b[3], assumed;
    do {
        assumed = old;
        if (__int_as_float(assumed) >= (float)threadIdx.x) break;
        old = atomicCAS(&b[3], assumed, __float_as_int((float)threadIdx.x));
    } while (assumed != old);
}
// @cas_shared_ok ok
K cas_shared_ok(int *a, int *b, int n) {
    __shared__ int top;
    if (threadIdx.x == 0) top = -1;
    __syncthreads();
    int old = top, assumed;
    do {
        assumed = old;
        old = atomicCAS(&top, assumed, max(assumed, a[TID]));
    } while (assumed != old);
    __syncthreads();
    b[TID] = top;
}
// @cas_then_plain_store race
K cas_then_plain_store(int *a, int *b, int n) {
    int old = b[0], assumed;
    do {
        assumed = old;
        old = atomicCAS(&b[0], assumed, assumed + 1);
    } while (assumed != old);
    if (old == 100) b[0] = 0;
}
// @cas_of_another_place race
K cas_of_another_place(int *a, int *b, int n) {
    int old = b[1];
    if (atomicCAS(&b[0], old, TID) == old) atomicAdd(&b[1], 1);
}

// ---- loops of many threads
// @d_shift_in_place race
K d_shift_in_place(int *a, int *b, int n) {
    int i = TID;
    if (i < n - 1) a[i] = a[i + 1] + 1;
}
// @d_shift_two_arrays_ok ok
K d_shift_two_arrays_ok(int *a, int *b, int n) {
    int i = TID;
    if (i < n - 1) b[i] = a[i + 1] + 1;
}
// @d_output_scalar race
K d_output_scalar(int *a, int *b, int n) { b[0] = a[TID]; }
// @d_indirect_race race
K d_indirect_race(int *a, int *b, int n) { b[a[TID] / 2] += 1; }
// @d_indirect_ok ok
K d_indirect_ok(int *a, int *b, int n) { b[a[TID]] += 1; }
// @d_loop_carried_strided_ok ok
K d_loop_carried_strided_ok(int *a, int *b, int n) {
    for (int i = TID; i < n; i += 512) b[i] = a[i] + (i >= 512 ? b[i - 512] : 0);
}
// @d_loop_carried_strided_off race
K d_loop_carried_strided_off(int *a, int *b, int n) {
    for (int i = TID; i < n; i += 512) b[i] = a[i] + (i >= 511 ? b[i - 511] : 0);
}
// @d_chunks_ok ok
K d_chunks_ok(int *a, int *b, int n) {
    for (int i = 0; i < 2; i++) b[TID * 2 + i] = a[TID * 2 + i];
}
// @d_chunks_overlap race
K d_chunks_overlap(int *a, int *b, int n) {
    for (int i = 0; i < 3; i++)
        if (TID * 2 + i < n) b[TID * 2 + i] = TID * 8 + i;
}
// @d_critical_by_atomic_ok ok
K d_critical_by_atomic_ok(int *a, int *b, int n) {
    int sum = 0;
    for (int i = TID; i < n; i += 512) sum += a[i];
    atomicAdd(&b[0], sum);
}
// @d_read_result_early race
K d_read_result_early(int *a, int *b, int n) {
    atomicAdd(&b[0], a[TID]);
    __syncthreads();
    if (threadIdx.x == 0) b[1 + blockIdx.x] = b[0];
}
// @d_short_counters race
K d_short_counters(int *a, int *b, int n) { ((short *)b)[TID / 2] += 1; }
// @d_short_own_ok ok
K d_short_own_ok(int *a, int *b, int n) { ((short *)b)[TID] = (short)TID; }

// ---- samples of the sanitizer's manual
__device__ int cs_x;
// @cs_unaligned memory
K cs_unaligned(int *a, int *b, int n) { *(int *)((char *)&cs_x + 1) = 42; }
__device__ void cs_outside(void) { *(int *)0x87654320 = 42; }
// @cs_out_of_bounds memory
K cs_out_of_bounds(int *a, int *b, int n) { cs_outside(); }
// @cs_block_error race grid=1
K cs_block_error(int *a, int *b, int n) {
    __shared__ int smem[128];
    int t = threadIdx.x;
    smem[t] = a[t];
    if (t == 0) {
        int sum = 0;
        for (int i = 0; i < 128; i++) sum += smem[i];
        b[0] = sum;
    }
}
// @cs_warp_error race grid=1 block=64
K cs_warp_error(int *a, int *b, int n) {
    __shared__ int first[64];
    __shared__ int second[2];
    int t = threadIdx.x;
    first[t] = a[t];
    if (t % 32 == 0) {
        second[t / 32] = 0;
        for (int i = 0; i < 32; i++) second[t / 32] += first[t + i];
    }
    __syncthreads();
    if (t == 0) b[0] = second[0] + second[1];
}
// @cs_warp_error_mended_ok ok grid=1 block=64
K cs_warp_error_mended_ok(int *a, int *b, int n) {
    __shared__ int first[64];
    __shared__ int second[2];
    int t = threadIdx.x;
    first[t] = a[t];
    __syncwarp();
    if (t % 32 == 0) {
        second[t / 32] = 0;
        for (int i = 0; i < 32; i++) second[t / 32] += first[t + i];
    }
    __syncthreads();
    if (t == 0) b[0] = second[0] + second[1];
}
// @cs_memset_error init a=none
K cs_memset_error(int *a, int *b, int n) { b[TID] = a[TID] + 1; }
// @cs_divergent_threads barrier,race grid=1 block=128
K cs_divergent_threads(int *a, int *b, int n) {
    __shared__ int smem[128];
    int t = threadIdx.x;
    if (t < 100) {
        smem[t] = a[t];
        __syncthreads();
        b[t] = smem[99 - t];
    } else {
        smem[t] = 0;
        a[t] = 1;
        __syncthreads();
        b[t] = a[t - 1];
    }
}
// @cs_illegal_syncwarp barrier,race grid=1 block=32
K cs_illegal_syncwarp(int *a, int *b, int n) {
    __shared__ int smem[32];
    int t = threadIdx.x;
    unsigned mask = __ballot_sync(~0u, t < 16);
    if (t <= 16) {
        smem[t] = a[t];
        __syncwarp(mask);
        b[t] = smem[16 - t];
    }
}

// ---- CUDA's samples
// @s_reduce_tile_ok ok
K s_reduce_tile_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
    int t = block.thread_rank();
    s[t] = a[TID];
    cg::sync(block);
    for (int o = 64; o >= 32; o >>= 1) {
        if (t < o) s[t] += s[t + o];
        cg::sync(block);
    }
    if (t < 32) {
        int sum = s[t];
        for (int o = 16; o; o >>= 1) sum += tile.shfl_down(sum, o);
        if (t == 0) b[blockIdx.x] = sum;
    }
}
// @s_reduce_last_warp_plain race
K s_reduce_last_warp_plain(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    if (t < 64) s[t] += s[t + 64];
    __syncthreads();
    if (t < 32) {
        s[t] += s[t + 32];
        s[t] += s[t + 16];
        s[t] += s[t + 8];
        s[t] += s[t + 4];
        s[t] += s[t + 2];
        s[t] += s[t + 1];
    }
    if (t == 0) b[blockIdx.x] = s[0];
}
// @s_scan_work_efficient_ok ok shared=1024
K s_scan_work_efficient_ok(int *a, int *b, int n) {
    extern __shared__ int temp[];
    int t = threadIdx.x, offset = 1, N = 256, base = blockIdx.x * 256;
    temp[2 * t] = a[base + 2 * t];
    temp[2 * t + 1] = a[base + 2 * t + 1];
    for (int d = N >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) temp[N - 1] = 0;
    for (int d = 1; d < N; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
            int x = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += x;
        }
    }
    __syncthreads();
    b[base + 2 * t] = temp[2 * t];
    b[base + 2 * t + 1] = temp[2 * t + 1];
}
// @s_scan_last_sync_missing race shared=1024
K s_scan_last_sync_missing(int *a, int *b, int n) {
    extern __shared__ int temp[];
    int t = threadIdx.x, offset = 1, N = 256, base = blockIdx.x * 256;
    temp[2 * t] = a[base + 2 * t];
    temp[2 * t + 1] = a[base + 2 * t + 1];
    for (int d = N >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) temp[offset * (2 * t + 2) - 1] += temp[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) temp[N - 1] = 0;
    for (int d = 1; d < N; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int ai = offset * (2 * t + 1) - 1, bi = offset * (2 * t + 2) - 1;
            int x = temp[ai];
            temp[ai] = temp[bi];
            temp[bi] += x;
        }
    }
    b[base + t] = temp[t];
    b[base + 128 + t] = temp[128 + t];
}
// @s_scan_dynamic_too_small memory shared=512
K s_scan_dynamic_too_small(int *a, int *b, int n) {
    extern __shared__ int temp[];
    int t = threadIdx.x;
    temp[2 * t] = a[2 * t];
    temp[2 * t + 1] = a[2 * t + 1];
    __syncthreads();
    b[TID] = temp[t];
}
// @s_shfl_scan_ok ok
K s_shfl_scan_ok(int *a, int *b, int n) {
    __shared__ int sums[4];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int x = a[TID];
    for (int i = 1; i < 32; i *= 2) {
        int y = __shfl_up_sync(~0u, x, i);
        if (lane >= i) x += y;
    }
    if (lane == 31) sums[warp] = x;
    __syncthreads();
    if (warp == 0 && lane < 4) {
        int s = sums[lane];
        for (int i = 1; i < 4; i *= 2) {
            int y = __shfl_up_sync(0xF, s, i);
            if (lane >= i) s += y;
        }
        sums[lane] = s;
    }
    __syncthreads();
    b[TID] = x + (warp ? sums[warp - 1] : 0);
}
// @s_shfl_scan_full_mask_in_branch barrier
K s_shfl_scan_full_mask_in_branch(int *a, int *b, int n) {
    __shared__ int sums[4];
    int t = threadIdx.x, lane = t % 32, warp = t / 32;
    int x = a[TID];
    if (lane == 31) sums[warp] = x;
    __syncthreads();
    if (t < 4) {
        int s = sums[t];
        for (int i = 1; i < 4; i *= 2) s += __shfl_up_sync(~0u, s, i);
        sums[t] = s;
    } else if (t < 32) {
        a[t] = x + 1;
        __syncwarp(0xFFFFFFF0);
        b[512 + t] = a[t ^ 1];
    }
    __syncthreads();
    b[TID] = x + sums[warp];
}
// @s_shfl_mask_too_small barrier
K s_shfl_mask_too_small(int *a, int *b, int n) {
    int x = a[TID];
    for (int o = 16; o; o >>= 1) x += __shfl_xor_sync(0x0000FFFF, x, o);
    b[TID] = x;
}
// @s_histogram_warps_ok ok
K s_histogram_warps_ok(int *a, int *b, int n) {
    __shared__ unsigned h[4 * 64];
    int t = threadIdx.x;
    for (int i = t; i < 4 * 64; i += 128) h[i] = 0;
    __syncthreads();
    for (int i = TID; i < n; i += 512) atomicAdd(&h[t / 32 * 64 + a[i] % 64], 1u);
    __syncthreads();
    for (int bin = t; bin < 64; bin += 128) {
        unsigned sum = 0;
        for (int w = 0; w < 4; w++) sum += h[w * 64 + bin];
        atomicAdd(&b[bin], (int)sum);
    }
}
// @s_histogram_clear_too_little init
K s_histogram_clear_too_little(int *a, int *b, int n) {
    __shared__ unsigned h[4 * 64];
    int t = threadIdx.x;
    h[t] = 0;
    __syncthreads();
    for (int i = TID; i < n; i += 512) atomicAdd(&h[t / 32 * 64 + a[i] % 64], 1u);
    __syncthreads();
    if (t < 64) atomicAdd(&b[t], (int)(h[t] + h[64 + t] + h[128 + t] + h[192 + t]));
}
// @s_histogram_bytes_own_ok ok
K s_histogram_bytes_own_ok(int *a, int *b, int n) {
    __shared__ unsigned char h[64 * 128];
    int t = threadIdx.x;
    for (int i = 0; i < 16; i++) ((unsigned *)h)[t + i * 128] = 0;
    __syncthreads();
    for (int i = TID; i < n; i += 512) h[a[i] % 64 * 128 + t]++;
    __syncthreads();
    if (t < 64) {
        int sum = 0;
        for (int i = 0; i < 128; i++) sum += h[t * 128 + i];
        atomicAdd(&b[t], sum);
    }
}
// @s_histogram_bytes_shared race
K s_histogram_bytes_shared(int *a, int *b, int n) {
    __shared__ unsigned char h[64];
    int t = threadIdx.x;
    if (t < 64) h[t] = 0;
    __syncthreads();
    h[a[TID] % 64]++;
    __syncthreads();
    if (t < 64) atomicAdd(&b[t], (int)h[t]);
}
__device__ unsigned tfr_count;
// @s_thread_fence_reduction_ok ok
K s_thread_fence_reduction_ok(int *a, int *b, int n) {
    __shared__ bool last;
    int t = threadIdx.x;
    int sum = warp_sum(a[TID]);
    __shared__ int part[4];
    if (t % 32 == 0) part[t / 32] = sum;
    __syncthreads();
    if (t == 0) {
        b[1 + blockIdx.x] = part[0] + part[1] + part[2] + part[3];
        __threadfence();
        unsigned ticket = atomicInc(&tfr_count, gridDim.x);
        last = ticket == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        int all = 0;
        for (unsigned i = 0; i < gridDim.x; i++) all += b[1 + i];
        b[0] = all;
        tfr_count = 0;
    }
}
// @s_thread_fence_reduction_other_thread_reads_ok ok
K s_thread_fence_reduction_other_thread_reads_ok(int *a, int *b, int n) {
    __shared__ bool last;
    int t = threadIdx.x;
    b[16 + TID] = a[TID];
    __threadfence();
    __syncthreads();
    if (t == 0) last = atomicAdd(&b[0], 1) == 3;
    __syncthreads();
    if (last) {
        __threadfence();
        a[t] = b[16 + t] + b[16 + 128 + t] + b[16 + 256 + t] + b[16 + 384 + t];
    }
}
// @s_thread_fence_reduction_forgotten race
K s_thread_fence_reduction_forgotten(int *a, int *b, int n) {
    __shared__ bool last;
    int t = threadIdx.x;
    b[16 + TID] = a[TID];
    __syncthreads();
    if (t == 0) last = atomicAdd(&b[0], 1) == 3;
    __syncthreads();
    if (last) a[t] = b[16 + t] + b[16 + 128 + t] + b[16 + 256 + t] + b[16 + 384 + t];
}
// @s_binary_partition_ok ok
K s_binary_partition_ok(int *a, int *b, int n) {
    cg::thread_block block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    int x = a[TID];
    auto sub = cg::binary_partition(tile, x & 1);
    int sum = cg::reduce(sub, x, cg::plus<int>());
    if (sub.thread_rank() == 0) atomicAdd(&b[x & 1], sum);
}
// @s_labeled_partition_ok ok
K s_labeled_partition_ok(int *a, int *b, int n) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    int x = a[TID] % 3;
    auto sub = cg::labeled_partition(warp, x);
    if (sub.thread_rank() == 0) atomicAdd(&b[x], sub.num_threads());
}
// @s_aggregated_atomics_ok ok
K s_aggregated_atomics_ok(int *a, int *b, int n) {
    if (a[TID] % 3 == 0) {
        cg::coalesced_group active = cg::coalesced_threads();
        int at = 0;
        if (active.thread_rank() == 0) at = atomicAdd(&b[0], active.size());
        at = active.shfl(at, 0) + active.thread_rank();
        b[1 + at] = a[TID];
    }
}
// @s_exclusive_scan_tile_ok ok
K s_exclusive_scan_tile_ok(int *a, int *b, int n) {
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    b[TID] = cg::exclusive_scan(tile, a[TID], cg::plus<int>());
}
// @s_tile_of_64_ok ok
K s_tile_of_64_ok(int *a, int *b, int n) {
    __shared__ cg::block_tile_memory<128> memory;
    cg::thread_block block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<64>(block);
    int sum = cg::reduce(tile, a[TID], cg::plus<int>());
    tile.sync();
    if (tile.thread_rank() == 0) b[TID / 64] = sum;
}
// @s_shmem_async_ok ok
K s_shmem_async_ok(int *a, int *b, int n) {
    __shared__ int s[2][128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], &a[t], 4);
    __pipeline_commit();
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        if (i + 1 < 4) __pipeline_memcpy_async(&s[~i & 1][t], &a[(i + 1) * 128 + t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[i & 1][127 - t];
        __syncthreads();
    }
    b[TID] = sum;
}
// @s_shmem_async_sync_missing_behind race
K s_shmem_async_sync_missing_behind(int *a, int *b, int n) {
    __shared__ int s[2][128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], &a[t], 4);
    __pipeline_commit();
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        if (i + 1 < 4) __pipeline_memcpy_async(&s[~i & 1][t], &a[(i + 1) * 128 + t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        sum += s[i & 1][127 - t];
    }
    b[TID] = sum;
}
// @s_shmem_async_waits_for_too_few race only=async
K s_shmem_async_waits_for_too_few(int *a, int *b, int n) {
    __shared__ int s[2][128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], &a[t], 4);
    __pipeline_commit();
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        if (i + 1 < 4) __pipeline_memcpy_async(&s[~i & 1][t], &a[(i + 1) * 128 + t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        sum += s[i & 1][127 - t];
        __syncthreads();
    }
    b[TID] = sum;
}
// @s_pipeline_four_stages_ok ok
K s_pipeline_four_stages_ok(int *a, int *b, int n) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ int s[2][128];
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0, fetched = 0;
    for (int i = 0; i < 4; i++) {
        for (; fetched < 4 && fetched < i + 2; fetched++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, s[fetched % 2], a + fetched * 128, sizeof(int) * 128, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += s[i % 2][127 - threadIdx.x];
        pipe.consumer_release();
    }
    b[TID] = sum;
}
// @s_conv_rows_ok ok
K s_conv_rows_ok(int *a, int *b, int n) {
    __shared__ int s[128 + 8];
    int t = threadIdx.x, i = TID;
    s[t + 4] = a[i];
    if (t < 4) s[t] = i >= 4 ? a[i - 4] : 0;
    if (t >= 124) s[t + 8] = i + 4 < n ? a[i + 4] : 0;
    __syncthreads();
    int sum = 0;
    for (int k = -4; k <= 4; k++) sum += s[t + 4 + k];
    b[i] = sum;
}
// @s_conv_rows_halo_short init
K s_conv_rows_halo_short(int *a, int *b, int n) {
    __shared__ int s[128 + 8];
    int t = threadIdx.x, i = TID;
    s[t + 4] = a[i];
    if (t < 3) s[t + 1] = i >= 3 ? a[i - 3] : 0;
    if (t >= 124) s[t + 8] = i + 4 < n ? a[i + 4] : 0;
    __syncthreads();
    int sum = 0;
    for (int k = -4; k <= 4; k++) sum += s[t + 4 + k];
    b[i] = sum;
}
// @s_conv_rows_outside memory
K s_conv_rows_outside(int *a, int *b, int n) {
    __shared__ int before[16];
    __shared__ int s[128 + 4];
    int t = threadIdx.x, i = TID;
    if (t < 16) before[t] = t;
    s[t + 4] = a[i];
    if (t < 4) s[t] = 0;
    __syncthreads();
    int sum = before[t % 16];
    for (int k = -4; k <= 4; k++) sum += s[t + 4 + k];
    b[i] = sum;
}
// @s_transpose_tile_pad_ok ok grid=1 block=32,8
K s_transpose_tile_pad_ok(int *a, int *b, int n) {
    __shared__ int tile[32][33];
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = a[(threadIdx.y + j) * 32 + threadIdx.x];
    __syncthreads();
    for (int j = 0; j < 32; j += 8) b[(threadIdx.y + j) * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y + j];
}
// @s_transpose_syncwarp race grid=1 block=32,8
K s_transpose_syncwarp(int *a, int *b, int n) {
    __shared__ int tile[32][33];
    for (int j = 0; j < 32; j += 8) tile[threadIdx.y + j][threadIdx.x] = a[(threadIdx.y + j) * 32 + threadIdx.x];
    __syncwarp();
    for (int j = 0; j < 32; j += 8) b[(threadIdx.y + j) * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y + j];
}
// @s_clock_ok ok
K s_clock_ok(int *a, int *b, int n) {
    __shared__ int s[256];
    int t = threadIdx.x;
    if (t == 0) b[blockIdx.x] = (int)clock64();
    s[t] = a[t];
    s[t + 128] = a[t + 128];
    for (int d = 128; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) s[t] = min(s[t], s[t + d]);
    }
    if (t == 0) b[8 + blockIdx.x] = s[0];
    __syncthreads();
    if (t == 0) b[16 + blockIdx.x] = (int)clock64();
}
// @s_sorting_network_ok ok
K s_sorting_network_ok(int *a, int *b, int n) {
    cg::thread_block cta = cg::this_thread_block();
    __shared__ int s[256];
    int t = threadIdx.x, base = blockIdx.x * 256;
    s[t] = a[base + t] * 7 % 256;
    s[t + 128] = a[base + t + 128] * 7 % 256;
    for (int size = 2; size <= 256; size <<= 1)
        for (int stride = size / 2; stride > 0; stride >>= 1) {
            cg::sync(cta);
            int pos = 2 * t - (t & (stride - 1));
            bool up = (t & (size / 2)) == 0;
            int x = s[pos], y = s[pos + stride];
            if ((x > y) == up) { s[pos] = y; s[pos + stride] = x; }
        }
    cg::sync(cta);
    b[base + t] = s[t];
    b[base + t + 128] = s[t + 128];
}
// @s_sorting_network_warp_sync race
K s_sorting_network_warp_sync(int *a, int *b, int n) {
    __shared__ int s[256];
    int t = threadIdx.x, base = blockIdx.x * 256;
    s[t] = a[base + t] * 7 % 256;
    s[t + 128] = a[base + t + 128] * 7 % 256;
    __syncthreads();
    for (int size = 2; size <= 256; size <<= 1)
        for (int stride = size / 2; stride > 0; stride >>= 1) {
            __syncwarp();
            int pos = 2 * t - (t & (stride - 1));
            bool up = (t & (size / 2)) == 0;
            int x = s[pos], y = s[pos + stride];
            if ((x > y) == up) { s[pos] = y; s[pos + stride] = x; }
        }
    __syncthreads();
    b[base + t] = s[t];
    b[base + t + 128] = s[t + 128];
}
// @s_multi_block_dot_ok ok coop=1
K s_multi_block_dot_ok(int *a, int *b, int n) {
    cg::grid_group grid = cg::this_grid();
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += a[i];
    sum = cg::reduce(tile, sum, cg::plus<int>());
    if (tile.thread_rank() == 0) atomicAdd(&b[0], sum);
    cg::sync(grid);
    b[16 + TID] = b[0];
    cg::sync(grid);
    if (grid.thread_rank() == 0) b[0] = 0;
}
// @s_multi_block_dot_reset_early race coop=1
K s_multi_block_dot_reset_early(int *a, int *b, int n) {
    cg::grid_group grid = cg::this_grid();
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    int sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += a[i];
    sum = cg::reduce(tile, sum, cg::plus<int>());
    if (tile.thread_rank() == 0) atomicAdd(&b[0], sum);
    cg::sync(grid);
    b[16 + TID] = b[0];
    if (grid.thread_rank() == 0) b[0] = 0;
}

// ---- queues and hand-over
// @q_ring_ok ok
K q_ring_ok(int *a, int *b, int n) {
    // One producer warp's lane, one consumer's, a ring of four in shared memory.
    __shared__ int ring[4];
    __shared__ cuda::atomic<int, cuda::thread_scope_block> head, tail;
    int t = threadIdx.x;
    if (t == 0) { head.store(0, cuda::memory_order_relaxed); tail.store(0, cuda::memory_order_relaxed); }
    __syncthreads();
    if (t == 0) {
        for (int i = 0; i < 12; i++) {
            while (i - tail.load(cuda::memory_order_acquire) >= 4) {}
            ring[i % 4] = a[i];
            head.store(i + 1, cuda::memory_order_release);
        }
    } else if (t == 64) {
        int sum = 0;
        for (int i = 0; i < 12; i++) {
            while (head.load(cuda::memory_order_acquire) <= i) {}
            sum += ring[i % 4];
            tail.store(i + 1, cuda::memory_order_release);
        }
        b[blockIdx.x] = sum;
    }
}
// @q_ring_overrun race
K q_ring_overrun(int *a, int *b, int n) {
    __shared__ int ring[4];
    __shared__ cuda::atomic<int, cuda::thread_scope_block> head;
    int t = threadIdx.x;
    if (t == 0) head.store(0, cuda::memory_order_relaxed);
    __syncthreads();
    if (t == 0) {
        for (int i = 0; i < 12; i++) {
            ring[i % 4] = a[i];
            head.store(i + 1, cuda::memory_order_release);
        }
    } else if (t == 64) {
        int sum = 0;
        for (int i = 0; i < 12; i++) {
            while (head.load(cuda::memory_order_acquire) <= i) {}
            sum += ring[i % 4];
        }
        b[blockIdx.x] = sum;
    }
}
// @q_slots_with_flags_ok ok
K q_slots_with_flags_ok(int *a, int *b, int n) {
    // Slot i is written by block 0, read by block 1 when its flag is up.
    int t = threadIdx.x;
    volatile int *flag = b + 256;
    if (blockIdx.x == 0) {
        b[t] = a[t];
        __threadfence();
        flag[t] = 1;
    } else if (blockIdx.x == 1) {
        while (flag[t] == 0) {}
        __threadfence();
        b[128 + t] = b[t] + 1;
    }
}
// @q_slots_flag_of_neighbour race
K q_slots_flag_of_neighbour(int *a, int *b, int n) {
    int t = threadIdx.x;
    volatile int *flag = b + 256;
    if (blockIdx.x == 0) {
        b[t] = a[t];
        __threadfence();
        flag[t] = 1;
    } else if (blockIdx.x == 1) {
        while (flag[t] == 0) {}
        __threadfence();
        b[128 + t] = b[(t + 1) % 128] + 1;
    }
}
// @q_treiber_push_ok ok
K q_treiber_push_ok(int *a, int *b, int n) {
    // b[0] is the top, b[1 + i] node i's link.
    int i = TID + 1;
    int top = atomicAdd(&b[0], 0);
    for (;;) {
        b[i] = top;
        __threadfence();
        int seen = atomicCAS(&b[0], top, i);
        if (seen == top) break;
        top = seen;
    }
}
// @q_treiber_pop_follows_plain race
K q_treiber_pop_follows_plain(int *a, int *b, int n) {
    int i = TID + 1;
    int top = atomicAdd(&b[0], 0);
    for (;;) {
        b[i] = top;
        int seen = atomicCAS(&b[0], top, i);
        if (seen == top) break;
        top = seen;
    }
    int first = atomicAdd(&b[0], 0);
    a[TID] = b[first];
}
// @q_election_ok ok
K q_election_ok(int *a, int *b, int n) {
    // The first to come initialises, the others wait.
    __shared__ int state, value;
    if (threadIdx.x == 0) state = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        int seen = atomicCAS(&state, 0, 1);
        if (seen == 0) {
            value = a[blockIdx.x];
            __threadfence_block();
            atomicExch(&state, 2);
        } else {
            while (atomicAdd(&state, 0) != 2) {}
            __threadfence_block();
        }
        b[TID] = value;
    }
}

// ---- memory
// @m_dynamic_two_arrays_ok ok shared=1024
K m_dynamic_two_arrays_ok(int *a, int *b, int n) {
    extern __shared__ int raw[];
    int *x = raw, *y = raw + 128;
    int t = threadIdx.x;
    x[t] = a[t];
    y[t] = a[t + 128];
    __syncthreads();
    b[TID] = x[127 - t] + y[127 - t];
}
// @m_dynamic_offset_in_bytes race shared=1024
K m_dynamic_offset_in_bytes(int *a, int *b, int n) {
    extern __shared__ int raw[];
    int *x = raw, *y = (int *)((char *)raw + 128);
    int t = threadIdx.x;
    x[t] = a[t];
    y[t] = a[t + 128];
    __syncthreads();
    b[TID] = x[t] + y[t];
}
// @m_dynamic_offset_misaligned memory shared=1024
K m_dynamic_offset_misaligned(int *a, int *b, int n) {
    extern __shared__ char bytes[];
    double *y = (double *)(bytes + 4 * 1 + n - 1024);
    int t = threadIdx.x;
    y[t % 64] = a[t];
    __syncthreads();
    b[TID] = (int)y[(t + 1) % 64];
}
// @m_local_index memory
K m_local_index(int *a, int *b, int n) {
    int local[8];
    for (int i = 0; i < 8; i++) local[i] = a[i];
    b[TID] = local[a[TID] % 64 + (n - 1024)];
}
// @m_result_partly_written init
K m_result_partly_written(int *a, int *b, int n) {
    __shared__ int s[128];
    if (threadIdx.x & 1) s[threadIdx.x] = a[TID];
    __syncthreads();
    b[TID] = s[127 - threadIdx.x];
}
struct Pair { int key, value; };
// @m_struct_member_unset init
K m_struct_member_unset(int *a, int *b, int n) {
    __shared__ Pair s[64];
    int t = threadIdx.x;
    if (t < 64) s[t].key = a[t];
    __syncthreads();
    if (t < 64 && s[t].value > 3) b[t] = s[63 - t].key;
}
// @m_output_tail_unset init b=none
K m_output_tail_unset(int *a, int *b, int n) {
    for (int i = TID; i < n - 1; i += 512) b[i] = a[i];
}
// @m_output_whole_ok ok b=none
K m_output_whole_ok(int *a, int *b, int n) {
    for (int i = TID; i < n; i += 512) b[i] = a[i];
}
// @m_accumulates_into_nothing init b=none
K m_accumulates_into_nothing(int *a, int *b, int n) {
    for (int i = TID; i < n; i += 512) atomicAdd(&b[i % 16], a[i]);
}
// @m_negative_from_unsigned memory
K m_negative_from_unsigned(int *a, int *b, int n) {
    unsigned i = TID;
    b[i] = a[i - 1u];
}
// @m_two_dimensions_swapped memory grid=1 block=64,4
K m_two_dimensions_swapped(int *a, int *b, int n) {
    int x = threadIdx.x, y = threadIdx.y;
    b[x * 64 + y] = a[y * 64 + x];
}
// @m_vector_tail memory
K m_vector_tail(int *a, int *b, int n) {
    int4 *v = (int4 *)a;
    for (int i = TID; i <= n / 4; i += 512) b[i] = v[i].x;
}
// @m_heap_ok ok grid=1
K m_heap_ok(int *a, int *b, int n) {
    int *p = (int *)malloc(16);
    if (p) {
        p[0] = a[TID];
        p[3] = p[0];
        b[TID] = p[3];
        free(p);
    }
}
// @m_heap_after_free memory grid=1
K m_heap_after_free(int *a, int *b, int n) {
    __shared__ int *p;
    if (threadIdx.x == 0) p = (int *)malloc(512);
    __syncthreads();
    p[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) free(p);
    __syncthreads();
    b[TID] = p[127 - threadIdx.x];
}
// @m_heap_freed_too_early race,memory grid=1
K m_heap_freed_too_early(int *a, int *b, int n) {
    __shared__ int *p;
    if (threadIdx.x == 0) p = (int *)malloc(512);
    __syncthreads();
    p[threadIdx.x] = a[threadIdx.x];
    b[TID] = p[threadIdx.x];
    if (threadIdx.x == 0) free(p);
}

// ---- barriers
// @b_in_loop_of_own_length barrier
K b_in_loop_of_own_length(int *a, int *b, int n) {
    int sum = 0;
    for (int i = 0; i < (threadIdx.x < 64 ? 3 : 4); i++) {
        sum += a[i];
        __syncthreads();
    }
    b[TID] = sum;
}
// @b_return_in_loop barrier
K b_return_in_loop(int *a, int *b, int n) {
    for (int i = 0; i < 4; i++) {
        if (a[TID] == i) return;
        __syncthreads();
        b[TID] = i;
    }
}
// @b_guard_around_tile_loop barrier
K b_guard_around_tile_loop(int *a, int *b, int n) {
    __shared__ int s[128];
    int i = TID;
    if (i < 500) {
        int sum = 0;
        for (int k = 0; k < 4; k++) {
            s[threadIdx.x] = a[k * 128 + threadIdx.x];
            __syncthreads();
            sum += s[0];
            __syncthreads();
        }
        b[i] = sum;
    }
    if (blockIdx.x == 3) {
        __syncthreads();
        b[512 + threadIdx.x] = s[threadIdx.x];
    }
}
// @b_count_in_branch barrier
K b_count_in_branch(int *a, int *b, int n) {
    if (threadIdx.x < 48) b[TID] = __syncthreads_count(a[TID] > 3);
    else b[TID] = __syncthreads_count(a[TID] > 5) + 1;
}
// @b_uniform_branch_ok ok
K b_uniform_branch_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    s[threadIdx.x] = a[TID];
    if (blockIdx.x & 1) {
        __syncthreads();
        b[TID] = s[127 - threadIdx.x];
    } else {
        __syncthreads();
        b[TID] = s[threadIdx.x ^ 1];
    }
}
// @b_syncwarp_half_ok ok
K b_syncwarp_half_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t % 32 < 16) {
        s[t] = a[TID];
        __syncwarp(0x0000FFFF);
        b[TID] = s[t ^ 1];
    } else {
        s[t] = a[TID] + 1;
        __syncwarp(0xFFFF0000);
        b[TID] = s[t ^ 1];
    }
}
// @b_syncwarp_mask_not_all barrier,race
K b_syncwarp_mask_not_all(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncwarp(0x0000FFFF);
    b[TID] = s[t ^ 31];
}
// @b_mbarrier_never_full barrier
K b_mbarrier_never_full(int *a, int *b, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    if (threadIdx.x == 0) init(&bar, blockDim.x + 1);
    __syncthreads();
    bar.arrive_and_wait();
    b[TID] = 1;
}
// @b_mbarrier_drop_ok ok
K b_mbarrier_drop_ok(int *a, int *b, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t == 0) init(&bar, blockDim.x);
    __syncthreads();
    s[t] = a[TID];
    bar.arrive_and_wait();
    if (t >= 64) {
        bar.arrive_and_drop();
        return;
    }
    int x = s[t + 64];
    bar.arrive_and_wait();
    s[t] = x;
    bar.arrive_and_wait();
    b[TID] = s[63 - t];
}
