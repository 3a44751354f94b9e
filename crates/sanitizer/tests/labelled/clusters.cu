// Labelled programs: clusters, distributed shared memory, bulk copies.
//
// The line above each kernel is as in suites.cu.
// nvcc -arch=compute_90 -std=c++17 -O3 -ptx clusters.cu -o clusters.ptx && gzip -9n clusters.ptx
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/ptx>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void
#define C2 __cluster_dims__(2, 1, 1)
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
// @dsm_read_ok ok
K C2 dsm_read_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    auto c = cg::this_cluster();
    s[threadIdx.x] = a[TID];
    c.sync();
    int *o = c.map_shared_rank(s, c.block_rank() ^ 1);
    b[TID] = o[127 - threadIdx.x];
    c.sync();
}
// @dsm_read_no_sync race
K C2 dsm_read_no_sync(int *a, int *b, int n) {
    __shared__ int s[128];
    auto c = cg::this_cluster();
    s[threadIdx.x] = a[TID];
    __syncthreads();
    int *o = c.map_shared_rank(s, c.block_rank() ^ 1);
    b[TID] = o[127 - threadIdx.x];
    c.sync();
}
// @dsm_exit_early memory,race,barrier
K C2 dsm_exit_early(int *a, int *b, int n) {
    __shared__ int s[128];
    auto c = cg::this_cluster();
    s[threadIdx.x] = a[TID];
    c.sync();
    int *o = c.map_shared_rank(s, c.block_rank() ^ 1);
    b[TID] = o[127 - threadIdx.x];
}
// @dsm_overwrite_after_read_no_sync race
K C2 dsm_overwrite_after_read_no_sync(int *a, int *b, int n) {
    __shared__ int s[128];
    auto c = cg::this_cluster();
    s[threadIdx.x] = a[TID];
    c.sync();
    int *o = c.map_shared_rank(s, c.block_rank() ^ 1);
    int v = o[127 - threadIdx.x];
    s[threadIdx.x] = v;
    c.sync();
    b[TID] = s[threadIdx.x];
}
// @dsm_overwrite_after_read_ok ok
K C2 dsm_overwrite_after_read_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    auto c = cg::this_cluster();
    s[threadIdx.x] = a[TID];
    c.sync();
    int *o = c.map_shared_rank(s, c.block_rank() ^ 1);
    int v = o[127 - threadIdx.x];
    c.sync();
    s[threadIdx.x] = v;
    __syncthreads();
    b[TID] = s[threadIdx.x ^ 1];
}
// @dsm_histogram_ok ok
K C2 dsm_histogram_ok(int *a, int *b, int n) {
    __shared__ int h[64];
    auto c = cg::this_cluster();
    if (threadIdx.x < 64) h[threadIdx.x] = 0;
    c.sync();
    for (int i = TID; i < n; i += gridDim.x * blockDim.x) {
        int bin = a[i] % 128;
        atomicAdd(c.map_shared_rank(h, bin / 64) + bin % 64, 1);
    }
    c.sync();
    if (threadIdx.x < 64) atomicAdd(b + c.block_rank() * 64 + threadIdx.x, h[threadIdx.x]);
}
// @dsm_histogram_block_sync_bug race
K C2 dsm_histogram_block_sync_bug(int *a, int *b, int n) {
    __shared__ int h[64];
    auto c = cg::this_cluster();
    if (threadIdx.x < 64) h[threadIdx.x] = 0;
    c.sync();
    for (int i = TID; i < n; i += gridDim.x * blockDim.x) {
        int bin = a[i] % 128;
        atomicAdd(c.map_shared_rank(h, bin / 64) + bin % 64, 1);
    }
    __syncthreads();
    if (threadIdx.x < 64) atomicAdd(b + c.block_rank() * 64 + threadIdx.x, h[threadIdx.x]);
    c.sync();
}
// @dsm_histogram_init_no_cluster_sync race,init
K C2 dsm_histogram_init_no_cluster_sync(int *a, int *b, int n) {
    __shared__ int h[64];
    auto c = cg::this_cluster();
    if (threadIdx.x < 64) h[threadIdx.x] = 0;
    __syncthreads();
    for (int i = TID; i < n; i += gridDim.x * blockDim.x) {
        int bin = a[i] % 128;
        atomicAdd(c.map_shared_rank(h, bin / 64) + bin % 64, 1);
    }
    c.sync();
    if (threadIdx.x < 64) atomicAdd(b + c.block_rank() * 64 + threadIdx.x, h[threadIdx.x]);
}
// @dsm_histogram_plain race
K C2 dsm_histogram_plain(int *a, int *b, int n) {
    __shared__ int h[64];
    auto c = cg::this_cluster();
    if (threadIdx.x < 64) h[threadIdx.x] = 0;
    c.sync();
    for (int i = TID; i < n; i += gridDim.x * blockDim.x) {
        int bin = a[i] % 128;
        c.map_shared_rank(h, bin / 64)[bin % 64] += 1;
    }
    c.sync();
    if (threadIdx.x < 64) atomicAdd(b + c.block_rank() * 64 + threadIdx.x, h[threadIdx.x]);
}
// @dsm_uninit init
K C2 dsm_uninit(int *a, int *b, int n) {
    __shared__ int s[128];
    auto c = cg::this_cluster();
    if (c.block_rank() == 0) s[threadIdx.x] = a[TID];
    c.sync();
    int *o = c.map_shared_rank(s, c.block_rank() ^ 1);
    b[TID] = o[127 - threadIdx.x];
    c.sync();
}
// @dsm_oob memory
K C2 dsm_oob(int *a, int *b, int n) {
    __shared__ int s[128];
    auto c = cg::this_cluster();
    s[threadIdx.x] = a[TID];
    c.sync();
    int *o = c.map_shared_rank(s, c.block_rank() ^ 1);
    b[TID] = o[threadIdx.x + 1];
    c.sync();
}
// @cluster_global_ok ok
K C2 cluster_global_ok(int *a, int *b, int n) {
    auto c = cg::this_cluster();
    b[TID] = a[TID];
    c.sync();
    b[512 + TID] = b[TID ^ 128];
}
// @cluster_global_across race
K C2 cluster_global_across(int *a, int *b, int n) {
    auto c = cg::this_cluster();
    b[TID] = a[TID];
    c.sync();
    b[512 + TID] = b[TID ^ 256];
}
// @cluster_arrive_wait_ok ok
K C2 cluster_arrive_wait_ok(int *a, int *b, int n) {
    b[TID] = a[TID];
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
    b[512 + TID] = b[TID ^ 128];
}
// @cluster_arrive_relaxed race
K C2 cluster_arrive_relaxed(int *a, int *b, int n) {
    b[TID] = a[TID];
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    b[512 + TID] = b[TID ^ 128];
}
// @cluster_arrive_relaxed_fence_ok ok
K C2 cluster_arrive_relaxed_fence_ok(int *a, int *b, int n) {
    b[TID] = a[TID];
    asm volatile("fence.acq_rel.cluster;" ::: "memory");
    asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    b[512 + TID] = b[TID ^ 128];
}
// @cluster_wait_after_read race
K C2 cluster_wait_after_read(int *a, int *b, int n) {
    b[TID] = a[TID];
    asm volatile("barrier.cluster.arrive.aligned;" ::: "memory");
    b[512 + TID] = b[TID ^ 128];
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
}
// @cluster_atomic_flag_ok ok
K C2 cluster_atomic_flag_ok(int *a, int *b, int n) {
    __shared__ int value, flag;
    auto c = cg::this_cluster();
    if (threadIdx.x == 0) flag = 0;
    c.sync();
    if (threadIdx.x == 0) {
        if (c.block_rank() == 0) {
            *c.map_shared_rank(&value, 1) = a[7];
            cuda::atomic_ref<int, cuda::thread_scope_device>(*c.map_shared_rank(&flag, 1)).store(1, cuda::memory_order_release);
        } else {
            while (!cuda::atomic_ref<int, cuda::thread_scope_device>(flag).load(cuda::memory_order_acquire)) {}
            b[blockIdx.x] = value;
        }
    }
    c.sync();
}
// @cluster_atomic_flag_relaxed race
K C2 cluster_atomic_flag_relaxed(int *a, int *b, int n) {
    __shared__ int value, flag;
    auto c = cg::this_cluster();
    if (threadIdx.x == 0) flag = 0;
    c.sync();
    if (threadIdx.x == 0) {
        if (c.block_rank() == 0) {
            *c.map_shared_rank(&value, 1) = a[7];
            cuda::atomic_ref<int, cuda::thread_scope_device>(*c.map_shared_rank(&flag, 1)).store(1, cuda::memory_order_relaxed);
        } else {
            while (!cuda::atomic_ref<int, cuda::thread_scope_device>(flag).load(cuda::memory_order_relaxed)) {}
            b[blockIdx.x] = value;
        }
    }
    c.sync();
}
// ---- bulk copies
namespace ptx = cuda::ptx;
using bar_t = cuda::barrier<cuda::thread_scope_block>;
__device__ void cde_fence() { ptx::fence_proxy_async(ptx::space_shared); }
// @bulk_load_ok ok
K bulk_load_ok(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    #pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ bar_t bar;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); cde_fence(); }
    __syncthreads();
    bar_t::arrival_token t;
    if (threadIdx.x == 0) {
        cuda::memcpy_async(s, a + blockIdx.x * 128, cuda::aligned_size_t<16>(512), bar);
        t = bar.arrive();
    } else t = bar.arrive();
    bar.wait(std::move(t));
    b[TID] = s[127 - threadIdx.x];
}
__device__ void bulk_in(void *to, const void *from, unsigned bytes, bar_t &bar) {
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, to, from, bytes, cuda::device::barrier_native_handle(bar));
}
// @bulk_load_tx_ok ok
K bulk_load_tx_ok(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    __shared__ bar_t bar;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); cde_fence(); }
    __syncthreads();
    bar_t::arrival_token t;
    if (threadIdx.x == 0) { bulk_in(s, a + blockIdx.x * 128, 512, bar); t = cuda::device::barrier_arrive_tx(bar, 1, 512); }
    else t = bar.arrive();
    bar.wait(std::move(t));
    b[TID] = s[127 - threadIdx.x];
}
// @bulk_load_tx_no_wait race
K bulk_load_tx_no_wait(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    __shared__ bar_t bar;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); cde_fence(); }
    __syncthreads();
    bar_t::arrival_token t;
    if (threadIdx.x == 0) { bulk_in(s, a + blockIdx.x * 128, 512, bar); t = cuda::device::barrier_arrive_tx(bar, 1, 512); }
    else t = bar.arrive();
    __syncthreads();
    b[TID] = s[127 - threadIdx.x];
    bar.wait(std::move(t));
}
// @bulk_load_tx_too_few_bytes race,barrier
K bulk_load_tx_too_few_bytes(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    __shared__ bar_t bar;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); cde_fence(); }
    __syncthreads();
    bar_t::arrival_token t;
    if (threadIdx.x == 0) { bulk_in(s, a + blockIdx.x * 128, 512, bar); t = cuda::device::barrier_arrive_tx(bar, 1, 256); }
    else t = bar.arrive();
    bar.wait(std::move(t));
    b[TID] = s[127 - threadIdx.x];
}
// @bulk_load_tx_too_many_bytes barrier
K bulk_load_tx_too_many_bytes(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    __shared__ bar_t bar;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); cde_fence(); }
    __syncthreads();
    bar_t::arrival_token t;
    if (threadIdx.x == 0) { bulk_in(s, a + blockIdx.x * 128, 512, bar); t = cuda::device::barrier_arrive_tx(bar, 1, 1024); }
    else t = bar.arrive();
    bar.wait(std::move(t));
    b[TID] = s[127 - threadIdx.x];
}
// @bulk_load_misaligned memory
K bulk_load_misaligned(int *a, int *b, int n) {
    __shared__ alignas(128) int s[132];
    __shared__ bar_t bar;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); cde_fence(); }
    __syncthreads();
    bar_t::arrival_token t;
    if (threadIdx.x == 0) { bulk_in(s + 1, a + blockIdx.x * 128, 512, bar); t = cuda::device::barrier_arrive_tx(bar, 1, 512); }
    else t = bar.arrive();
    bar.wait(std::move(t));
    b[TID] = s[1 + 127 - threadIdx.x];
}
// @bulk_load_oob memory
K bulk_load_oob(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    __shared__ bar_t bar;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); cde_fence(); }
    __syncthreads();
    bar_t::arrival_token t;
    if (threadIdx.x == 0) { bulk_in(s, a + 1024 - 64, 512, bar); t = cuda::device::barrier_arrive_tx(bar, 1, 512); }
    else t = bar.arrive();
    bar.wait(std::move(t));
    b[TID] = s[127 - threadIdx.x];
}
// @bulk_load_overwrite_early race
K bulk_load_overwrite_early(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    __shared__ bar_t bar;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); cde_fence(); }
    __syncthreads();
    for (int i = 0; i < 2; i++) {
        bar_t::arrival_token t;
        if (threadIdx.x == 0) { bulk_in(s, a + (2 * (blockIdx.x % 2) + i) * 128, 512, bar); t = cuda::device::barrier_arrive_tx(bar, 1, 512); }
        else t = bar.arrive();
        bar.wait(std::move(t));
        b[TID + 512 * i] = s[127 - threadIdx.x];
    }
}
// @bulk_load_loop_ok ok
K bulk_load_loop_ok(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    __shared__ bar_t bar;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); cde_fence(); }
    __syncthreads();
    for (int i = 0; i < 2; i++) {
        bar_t::arrival_token t;
        if (threadIdx.x == 0) { bulk_in(s, a + (2 * (blockIdx.x % 2) + i) * 128, 512, bar); t = cuda::device::barrier_arrive_tx(bar, 1, 512); }
        else t = bar.arrive();
        bar.wait(std::move(t));
        b[TID + 512 * i] = s[127 - threadIdx.x];
        __syncthreads();
    }
}
// @bulk_store_ok ok
K bulk_store_ok(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    s[threadIdx.x] = a[TID] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, b + blockIdx.x * 128, s, 512);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    __syncthreads();
    s[threadIdx.x] = 0;
}
// @bulk_store_no_proxy_fence race
K bulk_store_no_proxy_fence(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    s[threadIdx.x] = a[TID] + 1;
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, b + blockIdx.x * 128, s, 512);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    __syncthreads();
    s[threadIdx.x] = 0;
}
// @bulk_store_read_back_wait_read_only race
K bulk_store_read_back_wait_read_only(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    s[threadIdx.x] = a[TID] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, b + blockIdx.x * 128, s, 512);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
    __syncthreads();
    b[512 + TID] = b[blockIdx.x * 128 + 127 - threadIdx.x];
}
// @bulk_store_no_wait race
K bulk_store_no_wait(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    s[threadIdx.x] = a[TID] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, b + blockIdx.x * 128, s, 512);
        ptx::cp_async_bulk_commit_group();
    }
    __syncthreads();
    s[threadIdx.x] = 0;
}
// @bulk_store_no_sync race
K bulk_store_no_sync(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    s[threadIdx.x] = a[TID] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, b + blockIdx.x * 128, s, 512);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
// @bulk_store_read_back_ok ok
K bulk_store_read_back_ok(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    s[threadIdx.x] = a[TID] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, b + blockIdx.x * 128, s, 512);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
    __syncthreads();
    b[512 + TID] = b[blockIdx.x * 128 + 127 - threadIdx.x];
}
// @bulk_reduce_ok ok
K bulk_reduce_ok(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    s[threadIdx.x] = a[TID] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, b, s, 512);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
// @dsm_bulk_ok ok
K C2 dsm_bulk_ok(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128], r[128];
    __shared__ alignas(8) uint64_t bar;
    auto c = cg::this_cluster();
    s[threadIdx.x] = a[TID];
    if (threadIdx.x == 0) { ptx::mbarrier_init(&bar, 1); ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared, &bar, 512); }
    ptx::fence_proxy_async(ptx::space_shared);
    c.sync();
    if (threadIdx.x == 0)
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, c.map_shared_rank(r, c.block_rank() ^ 1), s, 512, c.map_shared_rank(&bar, c.block_rank() ^ 1));
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) {}
    b[TID] = r[127 - threadIdx.x];
    c.sync();
}
// @dsm_bulk_no_wait race,init
K C2 dsm_bulk_no_wait(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128], r[128];
    __shared__ alignas(8) uint64_t bar;
    auto c = cg::this_cluster();
    s[threadIdx.x] = a[TID];
    if (threadIdx.x == 0) { ptx::mbarrier_init(&bar, 1); ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cluster, ptx::space_shared, &bar, 512); }
    ptx::fence_proxy_async(ptx::space_shared);
    c.sync();
    if (threadIdx.x == 0)
        ptx::cp_async_bulk(ptx::space_cluster, ptx::space_shared, c.map_shared_rank(r, c.block_rank() ^ 1), s, 512, c.map_shared_rank(&bar, c.block_rank() ^ 1));
    __syncthreads();
    b[TID] = r[127 - threadIdx.x];
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) {}
    c.sync();
}
// @remote_mbarrier_ok ok
K C2 remote_mbarrier_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    __shared__ alignas(8) uint64_t bar;
    auto c = cg::this_cluster();
    if (threadIdx.x == 0) ptx::mbarrier_init(&bar, 128);
    c.sync();
    unsigned other = c.block_rank() ^ 1;
    c.map_shared_rank(s, other)[threadIdx.x] = a[TID];
    ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, c.map_shared_rank(&bar, other));
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) {}
    b[TID] = s[127 - threadIdx.x];
    c.sync();
}
// @remote_mbarrier_too_few race
K C2 remote_mbarrier_too_few(int *a, int *b, int n) {
    __shared__ int s[128];
    __shared__ alignas(8) uint64_t bar;
    auto c = cg::this_cluster();
    if (threadIdx.x == 0) ptx::mbarrier_init(&bar, 64);
    c.sync();
    unsigned other = c.block_rank() ^ 1;
    if (threadIdx.x < 64) {
        c.map_shared_rank(s, other)[threadIdx.x] = a[TID];
        ptx::mbarrier_arrive(ptx::sem_release, ptx::scope_cluster, ptx::space_cluster, c.map_shared_rank(&bar, other));
    } else c.map_shared_rank(s, other)[threadIdx.x] = a[TID];
    while (!ptx::mbarrier_try_wait_parity(ptx::sem_acquire, ptx::scope_cluster, &bar, 0)) {}
    b[TID] = s[127 - threadIdx.x];
    c.sync();
}
// ---- what bulk copies carry
// @bulk_load_source_unset init a=none
K bulk_load_source_unset(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    __shared__ bar_t bar;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); cde_fence(); }
    __syncthreads();
    bar_t::arrival_token t;
    if (threadIdx.x == 0) { bulk_in(s, a + blockIdx.x * 128, 512, bar); t = cuda::device::barrier_arrive_tx(bar, 1, 512); }
    else t = bar.arrive();
    bar.wait(std::move(t));
    if (s[127 - threadIdx.x] > 5) b[TID] = 1;
}
// @bulk_load_source_unset_unused_ok ok a=none
K bulk_load_source_unset_unused_ok(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    __shared__ bar_t bar;
    if (threadIdx.x < 64) a[blockIdx.x * 128 + threadIdx.x] = threadIdx.x;
    if (threadIdx.x == 0) { init(&bar, blockDim.x); cde_fence(); }
    ptx::fence_proxy_async();
    __syncthreads();
    bar_t::arrival_token t;
    if (threadIdx.x == 0) { bulk_in(s, a + blockIdx.x * 128, 512, bar); t = cuda::device::barrier_arrive_tx(bar, 1, 512); }
    else t = bar.arrive();
    bar.wait(std::move(t));
    b[TID] = threadIdx.x < 64 ? s[63 - threadIdx.x] : 0;
}
// @bulk_store_source_unset init
K bulk_store_source_unset(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    if (threadIdx.x != 77) s[threadIdx.x] = a[TID] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, b + blockIdx.x * 128, s, 512);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
// @bulk_store_source_unset_written_later_ok ok
K bulk_store_source_unset_written_later_ok(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    if (threadIdx.x != 77) s[threadIdx.x] = a[TID] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, b + blockIdx.x * 128, s, 512);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group(ptx::n32_t<0>());
    }
    __syncthreads();
    if (threadIdx.x == 77) b[TID] = 5;
}
// @bulk_reduce_into_unset init b=none
K bulk_reduce_into_unset(int *a, int *b, int n) {
    __shared__ alignas(128) int s[128];
    s[threadIdx.x] = a[TID] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_reduce_async_bulk(ptx::space_global, ptx::space_shared, ptx::op_add, b, s, 512);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}
