// Labelled programs: what the CUDA C++ library makes of narrow atomics, latches, semaphores, barriers and groups of threads,
// and warp-wide instructions.
//
// The line above each kernel is as in suites.cu.
// nvcc -arch=compute_90 -std=c++17 -O3 -ptx libraries.cu -o libraries.ptx && gzip -9n libraries.ptx
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>
#include <cuda/pipeline>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
// @byte_max_ok ok
K byte_max_ok(int *a, int *b, int n) {
    cuda::atomic_ref<signed char, cuda::thread_scope_device> r(((signed char *)b)[TID % 16]);
    r.fetch_max((signed char)(a[TID] & 63), cuda::memory_order_relaxed);
}
// @byte_load_plain_bug race
K byte_load_plain_bug(int *a, int *b, int n) {
    unsigned char *c = (unsigned char *)b;
    cuda::atomic_ref<unsigned char, cuda::thread_scope_device> r(c[TID % 16]);
    if (c[TID % 16] < 100) r.fetch_add(1, cuda::memory_order_relaxed);
}
// @byte_relaxed_load_ok ok
K byte_relaxed_load_ok(int *a, int *b, int n) {
    unsigned char *c = (unsigned char *)b;
    cuda::atomic_ref<unsigned char, cuda::thread_scope_device> r(c[TID % 16]);
    if (r.load(cuda::memory_order_relaxed) < 100) r.store(3, cuda::memory_order_relaxed);
}
// @short_cas_ok ok
K short_cas_ok(int *a, int *b, int n) {
    unsigned short *c = (unsigned short *)b;
    unsigned short old = c[TID & 7], seen;
    do { seen = old; old = atomicCAS(&c[TID & 7], seen, (unsigned short)(seen + 1)); } while (old != seen);
}
// @half2_atomic_ok ok
K half2_atomic_ok(int *a, int *b, int n) { atomicAdd((__half2 *)b + (TID & 3), __floats2half2_rn(1.f, 2.f)); }
// @half_atomic_ok ok
K half_atomic_ok(int *a, int *b, int n) { atomicAdd((__half *)b + (TID & 3), __float2half(1.f)); }
// @half_plain_bug race
K half_plain_bug(int *a, int *b, int n) { __half *h = (__half *)b; h[TID & 3] = __hadd(h[TID & 3], __float2half(1.f)); }
// ---- latch, semaphore, flags
// @latch_ok ok
K latch_ok(int *a, int *b, int n) {
    __shared__ cuda::latch<cuda::thread_scope_block> *l;
    __shared__ alignas(16) char space[sizeof(cuda::latch<cuda::thread_scope_block>)];
    __shared__ int s[128];
    if (threadIdx.x == 0) l = new (space) cuda::latch<cuda::thread_scope_block>(128);
    __syncthreads();
    s[threadIdx.x] = a[TID];
    l->arrive_and_wait();
    b[TID] = s[127 - threadIdx.x];
}
// @latch_too_few race
K latch_too_few(int *a, int *b, int n) {
    __shared__ cuda::latch<cuda::thread_scope_block> *l;
    __shared__ alignas(16) char space[sizeof(cuda::latch<cuda::thread_scope_block>)];
    __shared__ int s[128];
    if (threadIdx.x == 0) l = new (space) cuda::latch<cuda::thread_scope_block>(64);
    __syncthreads();
    s[threadIdx.x] = a[TID];
    if (threadIdx.x < 64) l->count_down(); else l->wait();
    __syncwarp();
    b[TID] = s[127 - threadIdx.x];
}
// @latch_count_down_ok ok
K latch_count_down_ok(int *a, int *b, int n) {
    __shared__ alignas(16) char space[sizeof(cuda::latch<cuda::thread_scope_block>)];
    auto *l = (cuda::latch<cuda::thread_scope_block> *)space;
    __shared__ int s[64];
    if (threadIdx.x == 0) new (space) cuda::latch<cuda::thread_scope_block>(64);
    __syncthreads();
    if (threadIdx.x < 64) { s[threadIdx.x] = a[TID]; l->count_down(); }
    else { l->wait(); b[TID] = s[127 - threadIdx.x]; }
}
// @semaphore_ok ok
K semaphore_ok(int *a, int *b, int n) {
    __shared__ alignas(16) char space[sizeof(cuda::binary_semaphore<cuda::thread_scope_block>)];
    auto *l = (cuda::binary_semaphore<cuda::thread_scope_block> *)space;
    __shared__ int total;
    if (threadIdx.x == 0) { new (space) cuda::binary_semaphore<cuda::thread_scope_block>(1); total = 0; }
    __syncthreads();
    if (threadIdx.x % 32 == 0) { l->acquire(); total += a[TID]; l->release(); }
    __syncthreads();
    b[TID] = total;
}
// @semaphore_never_released barrier
K semaphore_never_released(int *a, int *b, int n) {
    __shared__ alignas(16) char space[sizeof(cuda::binary_semaphore<cuda::thread_scope_block>)];
    auto *l = (cuda::binary_semaphore<cuda::thread_scope_block> *)space;
    if (threadIdx.x == 0) new (space) cuda::binary_semaphore<cuda::thread_scope_block>(1);
    __syncthreads();
    if (threadIdx.x % 32 == 0) { l->acquire(); b[blockIdx.x] = a[TID]; }
}
// @atomic_wait_notify_ok ok grid=2
K atomic_wait_notify_ok(int *a, int *b, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> f(b[1000]);
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) { b[0] = a[5]; f.store(1, cuda::memory_order_release); f.notify_all(); }
    } else if (threadIdx.x == 0) { f.wait(0, cuda::memory_order_acquire); b[1] = b[0] + 1; }
}
// @atomic_wait_relaxed race grid=2
K atomic_wait_relaxed(int *a, int *b, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> f(b[1000]);
    if (blockIdx.x == 0) {
        if (threadIdx.x == 0) { b[0] = a[5]; f.store(1, cuda::memory_order_relaxed); f.notify_all(); }
    } else if (threadIdx.x == 0) { f.wait(0, cuda::memory_order_relaxed); b[1] = b[0] + 1; }
}
// @flag_test_and_set_ok ok
__device__ cuda::std::atomic_flag std_flag;
K flag_test_and_set_ok(int *a, int *b, int n) {
    if (threadIdx.x == 0) {
        while (std_flag.test_and_set(cuda::std::memory_order_acquire)) {}
        b[0] += 1;
        std_flag.clear(cuda::std::memory_order_release);
    }
}
// @flag_clear_relaxed race
__device__ cuda::std::atomic_flag std_flag2;
K flag_clear_relaxed(int *a, int *b, int n) {
    if (threadIdx.x == 0) {
        while (std_flag2.test_and_set(cuda::std::memory_order_acquire)) {}
        b[0] += 1;
        std_flag2.clear(cuda::std::memory_order_relaxed);
    }
}
// @global_std_barrier_ok ok coop=1
__device__ alignas(64) char gbar_space[64];
K global_std_barrier_ok(int *a, int *b, int n) {
    auto *bar = (cuda::barrier<cuda::thread_scope_device> *)gbar_space;
    auto g = cg::this_grid();
    if (TID == 0) init(bar, gridDim.x);
    g.sync();
    if (threadIdx.x == 0) { b[blockIdx.x] = a[blockIdx.x]; bar->arrive_and_wait(); b[16 + blockIdx.x] = b[(blockIdx.x + 1) % gridDim.x]; }
}
// @global_std_barrier_no_wait race coop=1
K global_std_barrier_no_wait(int *a, int *b, int n) {
    auto *bar = (cuda::barrier<cuda::thread_scope_device> *)gbar_space;
    auto g = cg::this_grid();
    if (TID == 0) init(bar, gridDim.x);
    g.sync();
    if (threadIdx.x == 0) { b[blockIdx.x] = a[blockIdx.x]; (void)bar->arrive(); b[16 + blockIdx.x] = b[(blockIdx.x + 1) % gridDim.x]; }
}
// @barrier_completion_ok ok
struct Add { int *to; __device__ void operator()() const { *to += 1; } };
K barrier_completion_ok(int *a, int *b, int n) {
    __shared__ int rounds, seen[128];
    __shared__ alignas(16) char space[sizeof(cuda::barrier<cuda::thread_scope_block, Add>)];
    auto *bar = (cuda::barrier<cuda::thread_scope_block, Add> *)space;
    if (threadIdx.x == 0) { rounds = 0; new (space) cuda::barrier<cuda::thread_scope_block, Add>(128, Add{&rounds}); }
    __syncthreads();
    for (int i = 0; i < 3; i++) { bar->arrive_and_wait(); seen[threadIdx.x] = rounds; bar->arrive_and_wait(); }
    b[TID] = seen[threadIdx.x];
}
// @barrier_completion_one_wait_bug race
K barrier_completion_one_wait_bug(int *a, int *b, int n) {
    __shared__ int rounds, seen[128];
    __shared__ alignas(16) char space[sizeof(cuda::barrier<cuda::thread_scope_block, Add>)];
    auto *bar = (cuda::barrier<cuda::thread_scope_block, Add> *)space;
    if (threadIdx.x == 0) { rounds = 0; new (space) cuda::barrier<cuda::thread_scope_block, Add>(128, Add{&rounds}); }
    __syncthreads();
    for (int i = 0; i < 3; i++) { auto t = bar->arrive(); seen[threadIdx.x] = rounds; bar->wait(std::move(t)); }
    b[TID] = seen[threadIdx.x];
}
// ---- cooperative groups
// @cg_token_ok ok
K cg_token_ok(int *a, int *b, int n) {
    auto blk = cg::this_thread_block();
    __shared__ int s[128];
    s[threadIdx.x] = a[TID];
    auto t = blk.barrier_arrive();
    int own = a[TID] * 2;
    blk.barrier_wait(std::move(t));
    b[TID] = s[127 - threadIdx.x] + own;
}
// @cg_token_read_before_wait race
K cg_token_read_before_wait(int *a, int *b, int n) {
    auto blk = cg::this_thread_block();
    __shared__ int s[128];
    s[threadIdx.x] = a[TID];
    auto t = blk.barrier_arrive();
    int own = s[127 - threadIdx.x];
    blk.barrier_wait(std::move(t));
    b[TID] = own;
}
// @cg_grid_token_ok ok coop=1
K cg_grid_token_ok(int *a, int *b, int n) {
    auto g = cg::this_grid();
    b[TID] = a[TID];
    auto t = g.barrier_arrive();
    int x = a[TID];
    g.barrier_wait(std::move(t));
    b[512 + TID] = b[511 - TID] + x;
}
// @cg_tile64_ok ok
K cg_tile64_ok(int *a, int *b, int n) {
    __shared__ cg::block_tile_memory<128> mem;
    auto blk = cg::this_thread_block(mem);
    auto tile = cg::tiled_partition<64>(blk);
    __shared__ int s[128];
    s[threadIdx.x] = a[TID];
    tile.sync();
    b[TID] = s[threadIdx.x ^ 63] + cg::reduce(tile, a[TID], cg::plus<int>());
}
// @cg_tile64_across race
K cg_tile64_across(int *a, int *b, int n) {
    __shared__ cg::block_tile_memory<128> mem;
    auto blk = cg::this_thread_block(mem);
    auto tile = cg::tiled_partition<64>(blk);
    __shared__ int s[128];
    s[threadIdx.x] = a[TID];
    tile.sync();
    b[TID] = s[threadIdx.x ^ 127];
}
// @cg_coalesced_sum_ok ok
K cg_coalesced_sum_ok(int *a, int *b, int n) {
    if (a[TID] % 3 == 0) {
        auto g = cg::coalesced_threads();
        int s = cg::reduce(g, a[TID], cg::plus<int>());
        if (g.thread_rank() == 0) atomicAdd(b, s);
    }
}
// @cg_labeled_hist_ok ok
K cg_labeled_hist_ok(int *a, int *b, int n) {
    auto w = cg::tiled_partition<32>(cg::this_thread_block());
    int key = a[TID] % 5;
    auto g = cg::labeled_partition(w, key);
    int c = g.size();
    if (g.thread_rank() == 0) atomicAdd(b + key, c);
}
// @cg_labeled_hist_plain race
K cg_labeled_hist_plain(int *a, int *b, int n) {
    auto w = cg::tiled_partition<32>(cg::this_thread_block());
    int key = a[TID] % 5;
    auto g = cg::labeled_partition(w, key);
    int c = g.size();
    if (g.thread_rank() == 0) b[key] += c;
}
// @cg_invoke_one_ok ok
K cg_invoke_one_ok(int *a, int *b, int n) {
    auto w = cg::tiled_partition<32>(cg::this_thread_block());
    int at = cg::invoke_one_broadcast(w, [&] { return atomicAdd(b, 32); });
    b[1 + (at + w.thread_rank()) % 1000] = 3;
}
// @cg_memcpy_wait_prior_ok ok grid=1
K cg_memcpy_wait_prior_ok(int *a, int *b, int n) {
    __shared__ alignas(16) int s[2][128];
    auto g = cg::this_thread_block();
    cg::memcpy_async(g, s[0], a, sizeof(int) * 128);
    for (int i = 1; i < 4; i++) {
        cg::memcpy_async(g, s[i & 1], a + 128 * i, sizeof(int) * 128);
        cg::wait_prior<1>(g);
        b[128 * (i - 1) + threadIdx.x] = s[(i - 1) & 1][127 - threadIdx.x];
        g.sync();
    }
    cg::wait(g);
    b[384 + threadIdx.x] = s[1][127 - threadIdx.x];
}
// @cg_memcpy_wait_prior_two race grid=1 only=async
K cg_memcpy_wait_prior_two(int *a, int *b, int n) {
    __shared__ alignas(16) int s[2][128];
    auto g = cg::this_thread_block();
    cg::memcpy_async(g, s[0], a, sizeof(int) * 128);
    for (int i = 1; i < 4; i++) {
        cg::memcpy_async(g, s[i & 1], a + 128 * i, sizeof(int) * 128);
        cg::wait_prior<2>(g);
        b[128 * (i - 1) + threadIdx.x] = s[(i - 1) & 1][127 - threadIdx.x];
        g.sync();
    }
}
// @cg_memcpy_no_sync_before_reuse race grid=1
K cg_memcpy_no_sync_before_reuse(int *a, int *b, int n) {
    __shared__ alignas(16) int s[2][128];
    auto g = cg::this_thread_block();
    cg::memcpy_async(g, s[0], a, sizeof(int) * 128);
    for (int i = 1; i < 4; i++) {
        cg::memcpy_async(g, s[i & 1], a + 128 * i, sizeof(int) * 128);
        cg::wait_prior<1>(g);
        b[128 * (i - 1) + threadIdx.x] = s[(i - 1) & 1][127 - threadIdx.x];
    }
}
// @cg_scan_tile_ok ok
K cg_scan_tile_ok(int *a, int *b, int n) {
    auto t = cg::tiled_partition<16>(cg::this_thread_block());
    b[TID] = cg::inclusive_scan(t, a[TID]) + cg::exclusive_scan(t, a[TID], cg::plus<int>());
}
// @cg_shfl_types_ok ok
K cg_shfl_types_ok(int *a, int *b, int n) {
    struct P { int x; double y; short z; } p{a[TID], 1.0 * a[TID], (short)a[TID]};
    auto t = cg::tiled_partition<8>(cg::this_thread_block());
    P q = t.shfl(p, 3);
    b[TID] = q.x + (int)q.y + q.z;
}
// ---- warp primitives
// @warp_match_ok ok
K warp_match_ok(int *a, int *b, int n) {
    unsigned m = __match_any_sync(~0u, a[TID] % 7);
    int lead = __ffs(m) - 1;
    int base = 0;
    if ((threadIdx.x & 31) == lead) base = atomicAdd(&b[a[TID] % 7], __popc(m));
    base = __shfl_sync(m, base, lead);
    b[16 + TID] = base;
}
// @warp_match_wrong_mask barrier,init
K warp_match_wrong_mask(int *a, int *b, int n) {
    unsigned m = __match_any_sync(~0u, a[TID] % 7);
    int lead = __ffs(m) - 1;
    int base = 0;
    if (a[TID] % 7 == 3) base = __shfl_sync(~0u, a[TID], lead);
    b[16 + TID] = base;
}
// @warp_loop_shfl_tail_ok ok grid=1
K warp_loop_shfl_tail_ok(int *a, int *b, int n) {
    int len = 112;
    for (int i = threadIdx.x; i < 128; i += 32 * 4) {
        unsigned m = __ballot_sync(~0u, i < len);
        if (i < len) {
            int v = a[i];
            for (int o = 16; o; o >>= 1) { int w = __shfl_down_sync(m, v, o); if (m >> ((threadIdx.x & 31) + o & 31) & 1 && (threadIdx.x & 31) + o < 32) v += w; }
            if ((i & 31) == 0) b[i] = v;
        }
    }
}
// @warp_loop_full_mask_tail barrier,init grid=1
K warp_loop_full_mask_tail(int *a, int *b, int n) {
    int len = 112;
    for (int i = threadIdx.x; i < len; i += 128) {
        int v = a[i];
        for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
        if ((i & 31) == 0) b[i] = v;
    }
}
// @warp_smem_reduce_syncwarp_ok ok
K warp_smem_reduce_syncwarp_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, l = t & 31;
    s[t] = a[TID];
    __syncwarp();
    for (int o = 16; o; o >>= 1) {
        int v = l < o ? s[t + o] : 0;
        __syncwarp();
        if (l < o) s[t] += v;
        __syncwarp();
    }
    if (l == 0) b[TID] = s[t];
}
// @warp_smem_reduce_one_sync race
K warp_smem_reduce_one_sync(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x, l = t & 31;
    s[t] = a[TID];
    __syncwarp();
    for (int o = 1; o < 32; o <<= 1) {
        int v = l >= o ? s[t - o] : 0;
        if (l >= o) s[t] += v;
        __syncwarp();
    }
    b[TID] = s[t];
}
// @warp_specialised_nested_ok ok
K warp_specialised_nested_ok(int *a, int *b, int n) {
    __shared__ int s[32];
    if (threadIdx.x < 32) {
        if (threadIdx.x < 16) { s[threadIdx.x] = a[TID]; __syncwarp(0xFFFF); b[TID] = s[15 - threadIdx.x]; }
        else { s[threadIdx.x] = a[TID]; __syncwarp(0xFFFF0000); b[TID] = s[47 - threadIdx.x]; }
    }
}
// @warp_syncwarp_swapped_masks barrier
K warp_syncwarp_swapped_masks(int *a, int *b, int n) {
    __shared__ int s[32];
    if (threadIdx.x < 32) {
        if (threadIdx.x < 16) { s[threadIdx.x] = a[TID]; __syncwarp(0xFFFF0000); b[TID] = s[15 - threadIdx.x]; }
        else { s[threadIdx.x] = a[TID]; __syncwarp(0xFFFF); b[TID] = s[47 - threadIdx.x]; }
    }
}
// @ballot_compact_ok ok
K ballot_compact_ok(int *a, int *b, int n) {
    __shared__ int base[4];
    int w = threadIdx.x / 32, l = threadIdx.x & 31, keep = a[TID] % 3 == 0;
    unsigned m = __ballot_sync(~0u, keep);
    if (l == 0) base[w] = __popc(m);
    __syncthreads();
    if (threadIdx.x == 0) { int s = 0; for (int i = 0; i < 4; i++) { int c = base[i]; base[i] = s; s += c; } }
    __syncthreads();
    if (keep) b[blockIdx.x * 128 + base[w] + __popc(m & ((1u << l) - 1))] = a[TID];
}
// @ballot_compact_scan_no_sync race
K ballot_compact_scan_no_sync(int *a, int *b, int n) {
    __shared__ int base[4];
    int w = threadIdx.x / 32, l = threadIdx.x & 31, keep = a[TID] % 3 == 0;
    unsigned m = __ballot_sync(~0u, keep);
    if (l == 0) base[w] = __popc(m);
    __syncthreads();
    if (threadIdx.x == 0) { int s = 0; for (int i = 0; i < 4; i++) { int c = base[i]; base[i] = s; s += c; } }
    if (keep) b[blockIdx.x * 128 + base[w] + __popc(m & ((1u << l) - 1))] = a[TID];
}
// @syncthreads_or_loop_ok ok
K syncthreads_or_loop_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    s[threadIdx.x] = a[TID] % 64;
    __syncthreads();
    int go = 1;
    while (go) {
        int l = s[(threadIdx.x + 127) % 128];
        __syncthreads();
        int ch = 0;
        if (l > s[threadIdx.x]) { s[threadIdx.x] = l; ch = 1; }
        go = __syncthreads_or(ch);
    }
    b[TID] = s[threadIdx.x];
}
// @syncthreads_or_loop_bug race
K syncthreads_or_loop_bug(int *a, int *b, int n) {
    __shared__ int s[128];
    s[threadIdx.x] = a[TID] % 64;
    __syncthreads();
    int go = 1;
    while (go) {
        int l = s[(threadIdx.x + 127) % 128];
        int ch = 0;
        if (l > s[threadIdx.x]) { s[threadIdx.x] = l; ch = 1; }
        go = __syncthreads_or(ch);
    }
    b[TID] = s[threadIdx.x];
}
// @shfl_in_function_ok ok
__device__ __noinline__ int from_lane(unsigned mask, int value, int lane) { return __shfl_sync(mask, value, lane); }
K shfl_in_function_ok(int *a, int *b, int n) {
    int value = a[TID], sum = 0;
    for (int i = 0; i < 8; i++) {
        if ((value + i) % 3 == 0) sum += a[(TID + i) % n];
        sum += from_lane(~0u, value, i);
    }
    b[TID] = sum;
}
// @shfl_in_function_short_mask barrier,init
K shfl_in_function_short_mask(int *a, int *b, int n) {
    int value = a[TID], sum = 0;
    for (int i = 0; i < 8; i++) {
        if ((value + i) % 3 == 0) sum += a[(TID + i) % n];
        sum += from_lane(0xFFFF, value, i);
    }
    b[TID] = sum;
}
