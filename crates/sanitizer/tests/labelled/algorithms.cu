// Labelled programs: whole algorithms, each with the mistake that its kind is known for. Sorting networks, scans, radix
// passes, hash tables, worklists, queues and deques, locks, readers that take no lock, blocks that stay.
//
// The line above each kernel is as in suites.cu.
// nvcc -arch=compute_90 -std=c++17 -O3 -ptx algorithms.cu -o algorithms.ptx && gzip -9n algorithms.ptx
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
using dev_int = cuda::atomic_ref<int, cuda::thread_scope_device>;
using blk_int = cuda::atomic_ref<int, cuda::thread_scope_block>;
using dev_uint = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

// ---- sorts
// @bitonic_warps_ok ok block=64
// Strides below a warp's width need its lanes only.
K bitonic_warps_ok(int *a, int *b, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = a[TID] * 37 % 101;
    __syncthreads();
    for (int k = 2; k <= 64; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int o = t ^ j;
            if (o > t && (s[t] > s[o]) == ((t & k) == 0)) { int x = s[t]; s[t] = s[o]; s[o] = x; }
            if (j > 16 || k == 32 && j == 1) __syncthreads(); else __syncwarp();
        }
    __syncthreads();
    b[TID] = s[t];
}
// @bitonic_warps_stride_32 race block=64
// A stride of 32 crosses warps, and the step before it was ordered within the warps only.
K bitonic_warps_stride_32(int *a, int *b, int n) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = a[TID] * 37 % 101;
    __syncthreads();
    for (int k = 2; k <= 64; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            int o = t ^ j;
            if (o > t && (s[t] > s[o]) == ((t & k) == 0)) { int x = s[t]; s[t] = s[o]; s[o] = x; }
            __syncwarp();
        }
    __syncthreads();
    b[TID] = s[t];
}
// @odd_even_sort_ok ok
K odd_even_sort_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = (a[TID] * 29) & 127;
    __syncthreads();
    for (int r = 0; r < 128; r++) {
        int i = t * 2 + (r & 1);
        if (i + 1 < 128 && s[i] > s[i + 1]) { int x = s[i]; s[i] = s[i + 1]; s[i + 1] = x; }
        __syncthreads();
    }
    b[TID] = s[t];
}
// @odd_even_sort_until_sorted race
// Whoever is quick clears the flag for the next round while others still look at it.
K odd_even_sort_until_sorted(int *a, int *b, int n) {
    __shared__ int s[128];
    __shared__ int swapped;
    int t = threadIdx.x;
    s[t] = (a[TID] * 29) & 127;
    __syncthreads();
    for (int r = 0; r < 300; r++) {
        if (t == 0) swapped = 0;
        __syncthreads();
        for (int p = 0; p < 2; p++) {
            int i = t * 2 + p;
            if (i + 1 < 128 && s[i] > s[i + 1]) { int x = s[i]; s[i] = s[i + 1]; s[i + 1] = x; atomicOr(&swapped, 1); }
            __syncthreads();
        }
        if (!swapped) break;
    }
    b[TID] = s[t];
}
// @odd_even_sort_until_sorted_ok ok
K odd_even_sort_until_sorted_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = (a[TID] * 29) & 127;
    __syncthreads();
    for (int r = 0; r < 300; r++) {
        int swapped = 0;
        for (int p = 0; p < 2; p++) {
            int i = t * 2 + p;
            if (i + 1 < 128 && s[i] > s[i + 1]) { int x = s[i]; s[i] = s[i + 1]; s[i + 1] = x; swapped = 1; }
            __syncthreads();
        }
        if (!__syncthreads_or(swapped)) break;
    }
    b[TID] = s[t];
}
// @radix_pass_ok ok
// One digit of two bits: counts of each warp by votes, a scan of them by one thread, and a scatter.
K radix_pass_ok(int *a, int *b, int n) {
    __shared__ int count[4][4];
    int t = threadIdx.x, w = t / 32, l = t % 32, v = a[TID] * 7 % 64, d = v & 3, mine = 0;
    for (int k = 0; k < 4; k++) {
        unsigned m = __ballot_sync(~0u, d == k);
        if (l == 0) count[k][w] = __popc(m);
        if (d == k) mine = __popc(m & ((1u << l) - 1));
    }
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int k = 0; k < 4; k++) for (int i = 0; i < 4; i++) { int c = count[k][i]; count[k][i] = sum; sum += c; }
    }
    __syncthreads();
    b[blockIdx.x * 128 + count[d][w] + mine] = v;
}
// @radix_pass_scan_by_warp_bug race
// The first warp scans, and only that warp is told so.
K radix_pass_scan_by_warp_bug(int *a, int *b, int n) {
    __shared__ int count[4][4];
    int t = threadIdx.x, w = t / 32, l = t % 32, v = a[TID] * 7 % 64, d = v & 3, mine = 0;
    for (int k = 0; k < 4; k++) {
        unsigned m = __ballot_sync(~0u, d == k);
        if (l == 0) count[k][w] = __popc(m);
        if (d == k) mine = __popc(m & ((1u << l) - 1));
    }
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int k = 0; k < 4; k++) for (int i = 0; i < 4; i++) { int c = count[k][i]; count[k][i] = sum; sum += c; }
    }
    __syncwarp();
    b[blockIdx.x * 128 + (count[d][w] + mine) % 128] = v;
}
// @radix_counts_unset init
// Only digits that occur are counted.
K radix_counts_unset(int *a, int *b, int n) {
    __shared__ int count[8];
    int t = threadIdx.x, d = a[TID] & 3;
    if (t < 4) count[t] = 0;
    __syncthreads();
    atomicAdd(&count[d], 1);
    __syncthreads();
    if (t < 8 && count[t] > 0) b[blockIdx.x * 8 + t] = 1;
}
// @merge_path_ok ok grid=1
K merge_path_ok(int *a, int *b, int n) {
    // a holds two runs, 0..127 and 128..255; every thread finds its own place in the other run.
    int t = threadIdx.x, x = a[t], y = a[128 + t], lo = 0, hi = 128;
    while (lo < hi) { int m = (lo + hi) / 2; if (a[128 + m] < x) lo = m + 1; else hi = m; }
    b[t + lo] = x;
    lo = 0, hi = 128;
    while (lo < hi) { int m = (lo + hi) / 2; if (a[m] <= y) lo = m + 1; else hi = m; }
    b[t + lo] = y;
}
// @merge_path_ties race grid=1
// Equal keys of the two runs go to the same place.
K merge_path_ties(int *a, int *b, int n) {
    int t = threadIdx.x, u = 127 - t, x = a[t] / 2, y = a[u] / 2, lo = 0, hi = 128;
    while (lo < hi) { int m = (lo + hi) / 2; if (a[m] / 2 < x) lo = m + 1; else hi = m; }
    b[t + lo] = x;
    lo = 0, hi = 128;
    while (lo < hi) { int m = (lo + hi) / 2; if (a[m] / 2 < y) lo = m + 1; else hi = m; }
    b[u + lo] = -y;
}

// ---- scans
// @hillis_steele_two_buffers_ok ok
K hillis_steele_two_buffers_ok(int *a, int *b, int n) {
    __shared__ int s[2][128];
    int t = threadIdx.x, in = 0;
    s[0][t] = a[TID];
    __syncthreads();
    for (int o = 1; o < 128; o *= 2) {
        s[in ^ 1][t] = t >= o ? s[in][t] + s[in][t - o] : s[in][t];
        in ^= 1;
        __syncthreads();
    }
    b[TID] = s[in][t];
}
// @hillis_steele_one_buffer race
K hillis_steele_one_buffer(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    for (int o = 1; o < 128; o *= 2) {
        if (t >= o) s[t] += s[t - o];
        __syncthreads();
    }
    b[TID] = s[t];
}
// @hillis_steele_register_ok ok
K hillis_steele_register_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, x = a[TID];
    s[t] = x;
    for (int o = 1; o < 128; o *= 2) {
        __syncthreads();
        int y = t >= o ? s[t - o] : 0;
        __syncthreads();
        s[t] = x += y;
    }
    b[TID] = s[t];
}
// @blelloch_ok ok block=64
K blelloch_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, at = blockIdx.x * 128, off = 1;
    s[2 * t] = a[at + 2 * t], s[2 * t + 1] = a[at + 2 * t + 1];
    for (int d = 64; d > 0; d /= 2, off *= 2) {
        __syncthreads();
        if (t < d) s[off * (2 * t + 2) - 1] += s[off * (2 * t + 1) - 1];
    }
    if (t == 0) s[127] = 0;
    for (int d = 1; d < 128; d *= 2) {
        off /= 2;
        __syncthreads();
        if (t < d) {
            int i = off * (2 * t + 1) - 1, j = off * (2 * t + 2) - 1, x = s[i];
            s[i] = s[j];
            s[j] += x;
        }
    }
    __syncthreads();
    b[at + 2 * t] = s[2 * t], b[at + 2 * t + 1] = s[2 * t + 1];
}
// @blelloch_root_cleared_by_another race block=64
// The last thread clears the root, which the first has just computed.
K blelloch_root_cleared_by_another(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, at = blockIdx.x * 128, off = 1;
    s[2 * t] = a[at + 2 * t], s[2 * t + 1] = a[at + 2 * t + 1];
    for (int d = 64; d > 0; d /= 2, off *= 2) {
        __syncthreads();
        if (t < d) s[off * (2 * t + 2) - 1] += s[off * (2 * t + 1) - 1];
    }
    if (t == 63) s[127] = 0;
    for (int d = 1; d < 128; d *= 2) {
        off /= 2;
        __syncthreads();
        if (t < d) {
            int i = off * (2 * t + 1) - 1, j = off * (2 * t + 2) - 1, x = s[i];
            s[i] = s[j];
            s[j] += x;
        }
    }
    __syncthreads();
    b[at + 2 * t] = s[2 * t], b[at + 2 * t + 1] = s[2 * t + 1];
}
// @lookback_chain_ok ok grid=8
// Each block adds its sum to what the one before it has published: `b[512 + i]` is the state, `b[520 + i]` the prefix.
K lookback_chain_ok(int *a, int *b, int n) {
    __shared__ int before;
    int sum = __syncthreads_count(a[TID] & 1);
    if (threadIdx.x == 0) {
        int prefix = 0;
        if (blockIdx.x > 0) {
            while (dev_int(b[512 + blockIdx.x - 1]).load(cuda::memory_order_acquire) == 0) {}
            prefix = b[520 + blockIdx.x - 1];
        }
        b[520 + blockIdx.x] = prefix + sum;
        dev_int(b[512 + blockIdx.x]).store(1, cuda::memory_order_release);
        before = prefix;
    }
    __syncthreads();
    if (threadIdx.x < 32) b[blockIdx.x * 32 + threadIdx.x] = before;
}
// @lookback_chain_state_first race grid=8
// The state is told before the prefix is there.
K lookback_chain_state_first(int *a, int *b, int n) {
    __shared__ int before;
    int sum = __syncthreads_count(a[TID] & 1);
    if (threadIdx.x == 0) {
        int prefix = 0;
        if (blockIdx.x > 0) {
            while (dev_int(b[512 + blockIdx.x - 1]).load(cuda::memory_order_acquire) == 0) {}
            prefix = b[520 + blockIdx.x - 1];
        }
        dev_int(b[512 + blockIdx.x]).store(1, cuda::memory_order_release);
        b[520 + blockIdx.x] = prefix + sum;
        before = prefix;
    }
    __syncthreads();
    if (threadIdx.x < 32) b[blockIdx.x * 32 + threadIdx.x] = before;
}
// @lookback_aggregate_or_prefix_ok ok grid=8
// Decoupled: a state of 1 is a block's own sum, one of 2 the sum of all up to it; each has a place of its own.
K lookback_aggregate_or_prefix_ok(int *a, int *b, int n) {
    int sum = __syncthreads_count(a[TID] % 3 == 0);
    if (threadIdx.x == 0) {
        int me = blockIdx.x, prefix = 0;
        volatile int *state = b + 512, *own = b + 520, *all = b + 528;
        if (me > 0) { own[me] = sum; __threadfence(); state[me] = 1; }
        for (int i = me - 1; i >= 0; i--) {
            int s;
            while ((s = state[i]) == 0) {}
            __threadfence();
            if (s == 2) { prefix += all[i]; break; }
            prefix += own[i];
        }
        all[me] = prefix + sum;
        __threadfence();
        state[me] = 2;
        b[me] = prefix;
    }
}
// @lookback_aggregate_over_prefix race grid=8
// Sum and prefix share a place: who reads the sum may get the prefix.
K lookback_aggregate_over_prefix(int *a, int *b, int n) {
    int sum = __syncthreads_count(a[TID] % 3 == 0);
    if (threadIdx.x == 0) {
        int me = blockIdx.x, prefix = 0;
        volatile int *state = b + 512;
        int *value = b + 520;
        if (me > 0) { value[me] = sum; __threadfence(); state[me] = 1; }
        for (int i = me - 1; i >= 0; i--) {
            int s;
            while ((s = state[i]) == 0) {}
            __threadfence();
            prefix += value[i];
            if (s == 2) break;
        }
        value[me] = prefix + sum;
        __threadfence();
        state[me] = 2;
        b[me] = prefix;
    }
}

// ---- hash tables
// @hash_insert_ok ok
K hash_insert_ok(int *a, int *b, int n) {
    int key = a[TID] % 200 + 1;
    for (unsigned h = key * 2654435761u;; h++) {
        int old = atomicCAS(&b[h % 512], 0, key);
        if (old == 0 || old == key) break;
    }
}
// @hash_insert_look_first race
// An empty slot is looked for with plain loads, then taken with a plain store.
K hash_insert_look_first(int *a, int *b, int n) {
    int key = a[TID] % 200 + 1;
    for (unsigned h = key * 2654435761u;; h++) {
        int *slot = &b[h % 512];
        if (*slot == 0) *slot = key;
        if (*slot == key) break;
    }
}
// @hash_value_after_key race
// Key by compare-and-swap, value by a plain store: a reader that finds the key may not find the value.
K hash_value_after_key(int *a, int *b, int n) {
    int key = a[TID] % 128 + 1;
    unsigned h = key * 2654435761u % 256;
    for (;; h = (h + 1) % 256) {
        int old = atomicCAS(&b[h], 0, key);
        if (old == 0) { b[256 + h] = key * 3; break; }
        if (old == key) { b[512 + TID % 512] = b[256 + h]; break; }
    }
}
// @hash_value_with_state_ok ok
// The slot is taken, filled, then shown; who finds it taken waits.
K hash_value_with_state_ok(int *a, int *b, int n) {
    int key = a[TID] % 128 + 1;
    unsigned h = key * 2654435761u % 256;
    for (;; h = (h + 1) % 256) {
        int old = atomicCAS(&b[h], 0, -1);
        if (old == 0) {
            b[256 + h] = key * 3;
            dev_int(b[h]).store(key, cuda::memory_order_release);
            break;
        }
        while ((old = dev_int(b[h]).load(cuda::memory_order_acquire)) == -1) {}
        if (old == key) { b[512 + TID % 512] = b[256 + h]; break; }
    }
}
// @hash_counts_in_shared_ok ok
K hash_counts_in_shared_ok(int *a, int *b, int n) {
    __shared__ int keys[64], counts[64];
    if (threadIdx.x < 64) keys[threadIdx.x] = -1, counts[threadIdx.x] = 0;
    __syncthreads();
    int key = a[TID] % 40;
    for (unsigned h = key;; h++) {
        int old = atomicCAS(&keys[h % 64], -1, key);
        if (old == -1 || old == key) { atomicAdd(&counts[h % 64], 1); break; }
    }
    __syncthreads();
    if (threadIdx.x < 64 && keys[threadIdx.x] >= 0) atomicAdd(&b[keys[threadIdx.x]], counts[threadIdx.x]);
}
// @hash_counts_keys_unset init
K hash_counts_keys_unset(int *a, int *b, int n) {
    __shared__ int keys[64], counts[64];
    if (threadIdx.x < 64) counts[threadIdx.x] = 0;
    __syncthreads();
    int key = a[TID] % 40 + 1;
    for (unsigned h = key, tries = 0; tries < 64; h++, tries++) {
        int old = atomicCAS(&keys[h % 64], 0, key);
        if (old == 0 || old == key) { atomicAdd(&counts[h % 64], 1); break; }
    }
    __syncthreads();
    if (threadIdx.x < 40) b[blockIdx.x * 64 + threadIdx.x] = counts[threadIdx.x];
}

// ---- graphs
// @frontier_bfs_ok ok grid=1
// One block, two queues in shared memory, a level at a time.
K frontier_bfs_ok(int *a, int *b, int n) {
    __shared__ int queue[2][256], size[2];
    int t = threadIdx.x, in = 0;
    if (t == 0) queue[0][0] = 0, size[0] = 1, size[1] = 0, b[0] = 1;
    __syncthreads();
    for (int level = 2; size[in] > 0; level++) {
        for (int i = t; i < size[in]; i += blockDim.x) {
            int v = queue[in][i];
            for (int k = 0; k < 3; k++) {
                int o = (v * 3 + k * 31 + 1) % 256;
                if (atomicCAS(&b[o], 0, level) == 0) queue[in ^ 1][atomicAdd(&size[in ^ 1], 1)] = o;
            }
        }
        __syncthreads();
        if (t == 0) size[in] = 0;
        in ^= 1;
        __syncthreads();
    }
}
// @frontier_bfs_size_cleared_late race grid=1
// Without the second barrier others add to the queue that is being emptied, or see the wrong size.
K frontier_bfs_size_cleared_late(int *a, int *b, int n) {
    __shared__ int queue[2][256], size[2];
    int t = threadIdx.x, in = 0;
    if (t == 0) queue[0][0] = 0, size[0] = 1, size[1] = 0, b[0] = 1;
    __syncthreads();
    for (int level = 2; size[in] > 0; level++) {
        for (int i = t; i < size[in]; i += blockDim.x) {
            int v = queue[in][i];
            for (int k = 0; k < 3; k++) {
                int o = (v * 3 + k * 31 + 1) % 256;
                if (atomicCAS(&b[o], 0, level) == 0) queue[in ^ 1][atomicAdd(&size[in ^ 1], 1)] = o;
            }
        }
        __syncthreads();
        if (t == 0) size[in] = 0;
        in ^= 1;
    }
}
// @union_find_hook_ok ok
// Hooks by compare-and-swap; parents are read by atomic loads, so that halving paths is a race of atomics only.
K union_find_hook_ok(int *a, int *b, int n) {
    int v = TID % 256, w = (v * 7 + 3) % 256;
    auto find = [&](int x) {
        for (int p; (p = dev_int(b[x]).load(cuda::memory_order_relaxed)) != 0 && p - 1 != x;) {
            int g = dev_int(b[p - 1]).load(cuda::memory_order_relaxed);
            if (g != 0) dev_int(b[x]).store(g, cuda::memory_order_relaxed);
            x = p - 1;
        }
        return x;
    };
    for (;;) {
        int r = find(v), s = find(w);
        if (r == s) break;
        int high = max(r, s), low = min(r, s);
        if (atomicCAS(&b[high], 0, low + 1) == 0) break;
    }
}
// @union_find_halving_plain race
K union_find_halving_plain(int *a, int *b, int n) {
    int v = TID % 256, w = (v * 7 + 3) % 256;
    auto find = [&](int x) {
        for (int p; (p = b[x]) != 0 && p - 1 != x;) {
            int g = b[p - 1];
            if (g != 0) b[x] = g;
            x = p - 1;
        }
        return x;
    };
    for (int tries = 0; tries < 300; tries++) {
        int r = find(v), s = find(w);
        if (r == s) break;
        int high = max(r, s), low = min(r, s);
        if (atomicCAS(&b[high], 0, low + 1) == 0) break;
    }
}
// @sssp_rounds_ok ok grid=1
// Bellman-Ford with one distance array: atomics to lower, atomic loads to look, a vote to end.
K sssp_rounds_ok(int *a, int *b, int n) {
    int t = threadIdx.x;
    dev_int(b[t]).store(t ? 1 << 20 : 0, cuda::memory_order_relaxed);
    __syncthreads();
    int changed;
    do {
        changed = 0;
        int d = dev_int(b[t]).load(cuda::memory_order_relaxed);
        for (int k = 0; k < 3; k++) {
            int o = (t * 5 + k * 17 + 1) % 128;
            if (atomicMin(&b[o], d + 1 + k) > d + 1 + k) changed = 1;
        }
    } while (__syncthreads_or(changed));
}
// @sssp_rounds_vote_first race grid=1
// The distance is read plainly after the vote, while others have begun the next round.
K sssp_rounds_vote_first(int *a, int *b, int n) {
    int t = threadIdx.x;
    b[t] = t ? 1 << 20 : 0;
    __syncthreads();
    int changed;
    do {
        changed = 0;
        int d = b[t];
        for (int k = 0; k < 3; k++) {
            int o = (t * 5 + k * 17 + 1) % 128;
            if (atomicMin(&b[o], d + 1 + k) > d + 1 + k) changed = 1;
        }
    } while (__syncthreads_or(changed));
}
// @triangle_counts_ok ok
K triangle_counts_ok(int *a, int *b, int n) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    int mine = 0;
    for (int i = threadIdx.x; i < 300; i += blockDim.x) mine += (a[i] ^ a[i + 1]) & 1;
    atomicAdd_block(&sum, mine);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&b[0], sum);
}
// @triangle_counts_own_scope race
// Every block adds to one counter, at the block's scope.
K triangle_counts_own_scope(int *a, int *b, int n) {
    int mine = a[TID] & 1;
    atomicAdd_block(&b[0], mine);
}

// ---- queues, deques, locks
// @ms_queue_ok ok grid=2 block=32
// Michael and Scott: nodes are indices into `b[64...]`, next of node i is b[64 + 2i], its value b[65 + 2i]; head and tail
// start at node 0. Only enqueuers.
K ms_queue_ok(int *a, int *b, int n) {
    int node = TID + 1;
    b[65 + 2 * node] = a[TID];
    for (;;) {
        int tail = dev_int(b[1]).load(cuda::memory_order_acquire);
        int next = dev_int(b[64 + 2 * tail]).load(cuda::memory_order_acquire);
        if (next == 0) {
            int none = 0;
            if (dev_int(b[64 + 2 * tail]).compare_exchange_strong(none, node, cuda::memory_order_release)) {
                dev_int(b[1]).compare_exchange_strong(tail, node, cuda::memory_order_release);
                break;
            }
        } else dev_int(b[1]).compare_exchange_strong(tail, next, cuda::memory_order_release);
    }
    // Who is linked can be reached from the start, with all that was stored in it.
    int sum = 0, at = 0;
    while ((at = dev_int(b[64 + 2 * at]).load(cuda::memory_order_acquire)) != 0) sum += b[65 + 2 * at];
    b[512 + TID] = sum;
}
// @ms_queue_link_relaxed race grid=2 block=32
K ms_queue_link_relaxed(int *a, int *b, int n) {
    int node = TID + 1;
    b[65 + 2 * node] = a[TID];
    for (;;) {
        int tail = dev_int(b[1]).load(cuda::memory_order_acquire);
        int next = dev_int(b[64 + 2 * tail]).load(cuda::memory_order_acquire);
        if (next == 0) {
            int none = 0;
            if (dev_int(b[64 + 2 * tail]).compare_exchange_strong(none, node, cuda::memory_order_relaxed)) {
                dev_int(b[1]).compare_exchange_strong(tail, node, cuda::memory_order_relaxed);
                break;
            }
        } else dev_int(b[1]).compare_exchange_strong(tail, next, cuda::memory_order_relaxed);
    }
    int sum = 0, at = 0;
    while ((at = dev_int(b[64 + 2 * at]).load(cuda::memory_order_acquire)) != 0) sum += b[65 + 2 * at];
    b[512 + TID] = sum;
}
// @deque_ok ok grid=3 block=32
// Chase and Lev: block 0's first thread pushes and takes at the bottom (b[0]), the other blocks' steal at the top (b[1]).
// Items are atomics, since a thief may read one that it then does not get.
K deque_ok(int *a, int *b, int n) {
    if (threadIdx.x) return;
    dev_int bottom(b[0]), top(b[1]);
    int *items = b + 16, got = 0;
    if (blockIdx.x == 0) {
        for (int i = 0; i < 16; i++) {
            b[64 + i] = i * 3;
            int at = bottom.load(cuda::memory_order_relaxed);
            dev_int(items[at % 32]).store(i, cuda::memory_order_relaxed);
            bottom.store(at + 1, cuda::memory_order_release);
        }
        for (;;) {
            int at = bottom.load(cuda::memory_order_relaxed) - 1;
            bottom.store(at, cuda::memory_order_relaxed);
            cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
            int t = top.load(cuda::memory_order_relaxed);
            if (t > at) { bottom.store(at + 1, cuda::memory_order_relaxed); break; }
            int item = dev_int(items[at % 32]).load(cuda::memory_order_relaxed);
            if (t == at) {
                bool won = top.compare_exchange_strong(t, t + 1, cuda::memory_order_seq_cst);
                bottom.store(at + 1, cuda::memory_order_relaxed);
                if (won) got += b[64 + item];
                break;
            }
            got += b[64 + item];
        }
    } else {
        for (int tries = 0; tries < 40; tries++) {
            int t = top.load(cuda::memory_order_acquire);
            cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
            if (t >= bottom.load(cuda::memory_order_acquire)) continue;
            int item = dev_int(items[t % 32]).load(cuda::memory_order_relaxed);
            if (top.compare_exchange_strong(t, t + 1, cuda::memory_order_seq_cst)) got += b[64 + item];
        }
    }
    b[128 + blockIdx.x] = got;
}
// @deque_push_without_release race grid=3 block=32
K deque_push_without_release(int *a, int *b, int n) {
    if (threadIdx.x) return;
    dev_int bottom(b[0]), top(b[1]);
    int *items = b + 16, got = 0;
    if (blockIdx.x == 0) {
        for (int i = 0; i < 16; i++) {
            b[64 + i] = i * 3;
            int at = bottom.load(cuda::memory_order_relaxed);
            dev_int(items[at % 32]).store(i, cuda::memory_order_relaxed);
            bottom.store(at + 1, cuda::memory_order_relaxed);
        }
    } else {
        for (int tries = 0; tries < 400; tries++) {
            int t = top.load(cuda::memory_order_acquire);
            if (t >= bottom.load(cuda::memory_order_acquire)) continue;
            int item = dev_int(items[t % 32]).load(cuda::memory_order_relaxed);
            if (top.compare_exchange_strong(t, t + 1)) got += b[64 + item];
        }
    }
    b[128 + blockIdx.x] = got;
}
// @seqlock_ok ok grid=2 block=32
// The writer counts up before and after; readers take the data by atomic loads and throw away what they got in between.
K seqlock_ok(int *a, int *b, int n) {
    if (threadIdx.x) return;
    dev_int seq(b[0]);
    if (blockIdx.x == 0) {
        for (int i = 1; i < 8; i++) {
            seq.store(2 * i - 1, cuda::memory_order_relaxed);
            cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
            dev_int(b[1]).store(i, cuda::memory_order_relaxed);
            dev_int(b[2]).store(-i, cuda::memory_order_relaxed);
            seq.store(2 * i, cuda::memory_order_release);
        }
    } else {
        for (int tries = 0, sum = 0; tries < 20; tries++) {
            int s = seq.load(cuda::memory_order_acquire);
            int x = dev_int(b[1]).load(cuda::memory_order_relaxed), y = dev_int(b[2]).load(cuda::memory_order_relaxed);
            cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
            if (s % 2 == 0 && seq.load(cuda::memory_order_relaxed) == s) b[16] = sum += x + y;
        }
    }
}
// @seqlock_plain_data race grid=2 block=32
// The count is right, but the data are plain: reading them while they are written is a race all the same.
K seqlock_plain_data(int *a, int *b, int n) {
    if (threadIdx.x) return;
    dev_int seq(b[0]);
    if (blockIdx.x == 0) {
        for (int i = 1; i < 8; i++) {
            seq.store(2 * i - 1, cuda::memory_order_relaxed);
            __threadfence();
            b[1] = i, b[2] = -i;
            seq.store(2 * i, cuda::memory_order_release);
        }
    } else {
        for (int tries = 0, sum = 0; tries < 20; tries++) {
            int s = seq.load(cuda::memory_order_acquire);
            int x = b[1], y = b[2];
            __threadfence();
            if (s % 2 == 0 && seq.load(cuda::memory_order_relaxed) == s) b[16] = sum += x + y;
        }
    }
}
// @rcu_publish_ok ok grid=4 block=32
// A new version is filled, then shown by one pointer; readers follow what they see. Old versions are never reused.
K rcu_publish_ok(int *a, int *b, int n) {
    if (threadIdx.x) return;
    dev_int current(b[0]);
    if (blockIdx.x == 0) {
        for (int v = 1; v < 8; v++) {
            for (int i = 0; i < 8; i++) b[16 + 8 * v + i] = v + i;
            current.store(16 + 8 * v, cuda::memory_order_release);
        }
    } else {
        for (int tries = 0, sum = 0; tries < 10; tries++) {
            int at = current.load(cuda::memory_order_acquire);
            if (at) for (int i = 0; i < 8; i++) sum += b[at + i];
            b[256 + blockIdx.x] = sum;
        }
    }
}
// @rcu_two_versions race grid=4 block=32
// With two versions in turn the writer overwrites what a reader still reads.
K rcu_two_versions(int *a, int *b, int n) {
    if (threadIdx.x) return;
    dev_int current(b[0]);
    if (blockIdx.x == 0) {
        for (int v = 1; v < 8; v++) {
            for (int i = 0; i < 8; i++) b[16 + 8 * (v & 1) + i] = v + i;
            current.store(16 + 8 * (v & 1), cuda::memory_order_release);
        }
    } else {
        for (int tries = 0, sum = 0; tries < 10; tries++) {
            int at = current.load(cuda::memory_order_acquire);
            if (at) for (int i = 0; i < 8; i++) sum += b[at + i];
            b[256 + blockIdx.x] = sum;
        }
    }
}
// @ticket_lock_of_blocks_ok ok grid=8 block=64
K ticket_lock_of_blocks_ok(int *a, int *b, int n) {
    if (threadIdx.x == 0) {
        int mine = atomicAdd(&b[0], 1);
        while (dev_int(b[1]).load(cuda::memory_order_acquire) != mine) {}
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 64; i += 64) b[64 + i] += 1;
    __syncthreads();
    if (threadIdx.x == 0) dev_int(b[1]).fetch_add(1, cuda::memory_order_release);
}
// @ticket_lock_released_by_any race grid=8 block=64
// The thread that lets the next one in does not wait for the others of its block.
K ticket_lock_released_by_any(int *a, int *b, int n) {
    if (threadIdx.x == 0) {
        int mine = atomicAdd(&b[0], 1);
        while (dev_int(b[1]).load(cuda::memory_order_acquire) != mine) {}
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 64; i += 64) b[64 + i] += 1;
    if (threadIdx.x == 0) dev_int(b[1]).fetch_add(1, cuda::memory_order_release);
}
// @rw_lock_ok ok grid=8 block=32
// Readers count up by twos, the writer takes the lowest bit when nobody is in.
K rw_lock_ok(int *a, int *b, int n) {
    if (threadIdx.x) return;
    dev_int lock(b[0]);
    if (blockIdx.x % 4 == 0) {
        int none = 0;
        while (!lock.compare_exchange_weak(none, 1, cuda::memory_order_acquire)) none = 0;
        b[1] += 1, b[2] -= 1;
        lock.fetch_sub(1, cuda::memory_order_release);
    } else {
        while (lock.fetch_add(2, cuda::memory_order_acquire) & 1) lock.fetch_sub(2, cuda::memory_order_relaxed);
        b[16 + blockIdx.x] = b[1] + b[2];
        lock.fetch_sub(2, cuda::memory_order_release);
    }
}
// @rw_lock_reader_leaves_relaxed race grid=8 block=32
K rw_lock_reader_leaves_relaxed(int *a, int *b, int n) {
    if (threadIdx.x) return;
    dev_int lock(b[0]);
    if (blockIdx.x % 4 == 0) {
        int none = 0;
        while (!lock.compare_exchange_weak(none, 1, cuda::memory_order_acquire)) none = 0;
        b[1] += 1, b[2] -= 1;
        lock.fetch_sub(1, cuda::memory_order_relaxed);
    } else {
        while (lock.fetch_add(2, cuda::memory_order_acquire) & 1) lock.fetch_sub(2, cuda::memory_order_relaxed);
        b[16 + blockIdx.x] = b[1] + b[2];
        lock.fetch_sub(2, cuda::memory_order_relaxed);
    }
}

// ---- blocks that stay
// @persistent_tasks_ok ok grid=4
// Each block takes tasks by one thread, and tells the others through shared memory, between two barriers.
K persistent_tasks_ok(int *a, int *b, int n) {
    __shared__ int task;
    for (;;) {
        if (threadIdx.x == 0) task = atomicAdd(&b[0], 1);
        __syncthreads();
        int mine = task;
        __syncthreads();
        if (mine >= 7) break;
        b[128 + mine * 128 + threadIdx.x] = a[mine * 128 + threadIdx.x];
    }
}
// @persistent_tasks_one_barrier race grid=4
K persistent_tasks_one_barrier(int *a, int *b, int n) {
    __shared__ int task;
    for (;;) {
        if (threadIdx.x == 0) task = atomicAdd(&b[0], 1);
        __syncthreads();
        if (task >= 7) break;
        b[128 + task * 128 + threadIdx.x] = a[task * 128 + threadIdx.x];
    }
}
// @persistent_tasks_spawn_ok ok grid=4 block=32
// Tasks make tasks: b[0] taken, b[1] made, b[2] done; items are at b[16...], with the flag in the item.
K persistent_tasks_spawn_ok(int *a, int *b, int n) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        dev_int(b[1]).fetch_add(1, cuda::memory_order_relaxed);
        dev_int(b[16]).store(1, cuda::memory_order_release);
    }
    for (;;) {
        int at = atomicAdd(&b[0], 1);
        if (at >= 31) break;
        int item;
        while ((item = dev_int(b[16 + at]).load(cuda::memory_order_acquire)) == 0) {}
        b[256 + at] = item;
        for (int k = 0; k < 2; k++)
            if (item * 2 + k < 32) {
                int to = dev_int(b[1]).fetch_add(1, cuda::memory_order_relaxed);
                dev_int(b[16 + to]).store(item * 2 + k, cuda::memory_order_release);
            }
    }
}
// @persistent_tasks_never_made barrier grid=4 block=32
// One task fewer is made than is waited for.
K persistent_tasks_never_made(int *a, int *b, int n) {
    if (threadIdx.x) return;
    if (blockIdx.x == 0) {
        dev_int(b[1]).fetch_add(1, cuda::memory_order_relaxed);
        dev_int(b[16]).store(1, cuda::memory_order_release);
    }
    for (;;) {
        int at = atomicAdd(&b[0], 1);
        if (at >= 31) break;
        int item;
        while ((item = dev_int(b[16 + at]).load(cuda::memory_order_acquire)) == 0) {}
        b[256 + at] = item;
        for (int k = 0; k < 2; k++)
            if (item * 2 + k < 31) {
                int to = dev_int(b[1]).fetch_add(1, cuda::memory_order_relaxed);
                dev_int(b[16 + to]).store(item * 2 + k, cuda::memory_order_release);
            }
    }
}
// @grid_sense_barrier_ok ok grid=4 block=64
// A barrier of the grid by hand, three times, with a generation.
K grid_sense_barrier_ok(int *a, int *b, int n) {
    for (int r = 0; r < 3; r++) {
        b[256 + 256 * (r & 1) + TID] = a[TID] + r;
        __syncthreads();
        if (threadIdx.x == 0) {
            int was = dev_int(b[1]).load(cuda::memory_order_relaxed);
            if (dev_int(b[0]).fetch_add(1, cuda::memory_order_acq_rel) == 3) {
                dev_int(b[0]).store(0, cuda::memory_order_relaxed);
                dev_int(b[1]).fetch_add(1, cuda::memory_order_release);
            } else while (dev_int(b[1]).load(cuda::memory_order_acquire) == was) {}
        }
        __syncthreads();
        int other = b[256 + 256 * (r & 1) + (TID + 64) % 256];
        if (other < 0) b[2] = 1;
    }
}
// @grid_sense_barrier_one_buffer race grid=4 block=64
// One buffer, and one barrier a round: the next round's store meets this round's load.
K grid_sense_barrier_one_buffer(int *a, int *b, int n) {
    for (int r = 0; r < 3; r++) {
        b[256 + TID] = a[TID] + r;
        __syncthreads();
        if (threadIdx.x == 0) {
            int was = dev_int(b[1]).load(cuda::memory_order_relaxed);
            if (dev_int(b[0]).fetch_add(1, cuda::memory_order_acq_rel) == 3) {
                dev_int(b[0]).store(0, cuda::memory_order_relaxed);
                dev_int(b[1]).fetch_add(1, cuda::memory_order_release);
            } else while (dev_int(b[1]).load(cuda::memory_order_acquire) == was) {}
        }
        __syncthreads();
        int other = b[256 + (TID + 64) % 256];
        if (other < 0) b[2] = 1;
    }
}

// ---- a byte of a word: the hardware has no atomics for it, so the library swaps the word
// @byte_atomic_ref_neighbour_ok ok
K byte_atomic_ref_neighbour_ok(int *a, int *b, int n) {
    unsigned char *p = (unsigned char *)b + 4 * (TID / 2);
    if (TID % 2) cuda::atomic_ref<unsigned char, cuda::thread_scope_device>(p[0]).fetch_add(1, cuda::memory_order_relaxed);
    else p[1] = 7;
}
// @byte_atomic_ref_max_neighbour_ok ok
K byte_atomic_ref_max_neighbour_ok(int *a, int *b, int n) {
    unsigned char *p = (unsigned char *)b + 4 * (TID / 2);
    if (TID % 2) cuda::atomic_ref<unsigned char, cuda::thread_scope_device>(p[0]).fetch_max(0);
    else p[1] = 7;
}
// @byte_atomic_exchange_neighbour_ok ok
K byte_atomic_exchange_neighbour_ok(int *a, int *b, int n) {
    unsigned char *p = (unsigned char *)b + 4 * (TID / 2);
    if (TID % 2) cuda::atomic_ref<unsigned char>(p[2]).exchange(9);
    else p[1] = 7;
}
// @byte_compare_exchange_neighbour_ok ok
K byte_compare_exchange_neighbour_ok(int *a, int *b, int n) {
    unsigned char *p = (unsigned char *)b + 4 * (TID / 2);
    unsigned char seen = 0;
    if (TID % 2) cuda::atomic_ref<unsigned char>(p[3]).compare_exchange_strong(seen, 9);
    else p[1] = 7;
}
// @half_atomic_exchange_neighbour_ok ok
K half_atomic_exchange_neighbour_ok(int *a, int *b, int n) {
    unsigned short *p = (unsigned short *)b + 2 * (TID / 2);
    if (TID % 2) cuda::atomic_ref<unsigned short>(p[1]).fetch_or(9);
    else p[0] = 7;
}
// @byte_atomic_ref_same_byte race
K byte_atomic_ref_same_byte(int *a, int *b, int n) {
    unsigned char *p = (unsigned char *)b + 4 * (TID / 2);
    if (TID % 2) cuda::atomic_ref<unsigned char, cuda::thread_scope_device>(p[1]).fetch_add(1, cuda::memory_order_relaxed);
    else p[1] = 7;
}
// @byte_atomic_exchange_read_same_byte race
K byte_atomic_exchange_read_same_byte(int *a, int *b, int n) {
    unsigned char *p = (unsigned char *)b + 4 * (TID / 2);
    if (TID % 2) cuda::atomic_ref<unsigned char>(p[2]).exchange(9);
    else ((unsigned char*)b)[2048 + TID] = p[2];
}
// @byte_by_hand_neighbour_ok ok
K byte_by_hand_neighbour_ok(int *a, int *b, int n) {
    unsigned char *p = (unsigned char *)b + 4 * (TID / 2);
    if (TID % 2) {
        unsigned *w = (unsigned *)p;
        unsigned old = *w, seen;
        do { seen = old; old = atomicCAS(w, seen, seen & 0xffff00ff | ((seen >> 8 & 255) + 1) << 8); } while (old != seen);
    } else p[0] = 7;
}
// @byte_by_hand_plain_word race
K byte_by_hand_plain_word(int *a, int *b, int n) {
    unsigned char *p = (unsigned char *)b + 4 * (TID / 2);
    if (TID % 2) {
        unsigned *w = (unsigned *)p;
        *w = *w + 256;
    } else p[0] = 7;
}
// @swap_of_nothing_beside_a_store race
K swap_of_nothing_beside_a_store(int *a, int *b, int n) {
    if (TID == 0) b[0] = 1;
    else if (TID == 64) b[1] = atomicCAS(&b[0], 0, 0);
}
// @swap_word_beside_byte_of_it race
K swap_word_beside_byte_of_it(int *a, int *b, int n) {
    if (TID == 0) ((unsigned char*)b)[1] = 1;
    else if (TID == 64) atomicCAS(&b[0], 0, 0x01010101);
}

// ---- uneven loops
// @uneven_loop_then_barrier_ok ok
K uneven_loop_then_barrier_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int c = threadIdx.x;
    for (int i = 0; i < threadIdx.x * 8; i++) c = c * 3 + a[c & 1023];
    s[threadIdx.x] = c;
    __syncthreads();
    b[TID] = s[127 - threadIdx.x];
}
// @uneven_loops_in_turn_ok ok
K uneven_loops_in_turn_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    for (int r = 0; r < 30; r++) {
        int c = threadIdx.x;
        for (int i = 0; i < (threadIdx.x * 7 + r) % 11; i++) c = c * 3 + a[c & 1023];
        s[threadIdx.x] = c;
        __syncthreads();
        int d = s[127 - threadIdx.x];
        __syncthreads();
        if (d == 123456) b[TID] = d;
    }
}
// @collatz_then_shuffle_ok ok
K collatz_then_shuffle_ok(int *a, int *b, int n) {
    unsigned x = a[TID] + 1;
    int c = 0;
    while (x != 1) { x = x & 1 ? 3 * x + 1 : x / 2; c++; }
    __syncthreads();
    b[TID] = __shfl_xor_sync(~0u, c, 1) + __syncthreads_count(c & 1);
}
