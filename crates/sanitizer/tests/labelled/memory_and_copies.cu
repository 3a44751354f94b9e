// Labelled programs: asynchronous copies, `cuda::barrier`, bounds, definedness, calls.
//
// Above each kernel: its name, `ok` or the tools of which at least one must find its bug, and how it is launched (one
// grid of 4 blocks of 128 threads, `a` holds 0, 1, 2 ..., `b` zeros, 1024 words each, if nothing else is said).
// nvcc -arch=compute_90 -std=c++17 -O3 -ptx memory_and_copies.cu -o memory_and_copies.ptx && gzip -9n memory_and_copies.ptx
#include <cstdio>
#include <cuda_pipeline.h>
#include <cuda/pipeline>
#include <cuda/barrier>
#include <cuda/atomic>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
// @pipe_prim_ok ok
K pipe_prim_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &a[TID], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    b[TID] = s[127 - t];
}
// @pipe_prim_nowait race only=async
K pipe_prim_nowait(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &a[TID], 4);
    __pipeline_commit();
    __syncthreads();
    b[TID] = s[127 - t];
}
// @pipe_prim_nosync race
K pipe_prim_nosync(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &a[TID], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    b[TID] = s[127 - t];
}
// @pipe_prim_own_nosync_ok ok
K pipe_prim_own_nosync_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[t], &a[TID], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    b[TID] = s[t];
}
// @pipe_double_ok ok grid=1
K pipe_double_ok(int *a, int *b, int n) {
    __shared__ int s[2][128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], &a[t], 4);
    __pipeline_commit();
    int acc = 0;
    for (int k = 0; k < 8; k++) {
        if (k < 7) {
            __pipeline_memcpy_async(&s[(k + 1) & 1][t], &a[(k + 1) * 128 + t], 4);
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        acc += s[k & 1][127 - t];
        __syncthreads();
    }
    b[t] = acc;
}
// @pipe_double_wait_too_lax race grid=1 only=async
K pipe_double_wait_too_lax(int *a, int *b, int n) {
    __shared__ int s[2][128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], &a[t], 4);
    __pipeline_commit();
    int acc = 0;
    for (int k = 0; k < 8; k++) {
        if (k < 7) {
            __pipeline_memcpy_async(&s[(k + 1) & 1][t], &a[(k + 1) * 128 + t], 4);
            __pipeline_commit();
        }
        __pipeline_wait_prior(1);
        __syncthreads();
        acc += s[k & 1][127 - t];
        __syncthreads();
    }
    b[t] = acc;
}
// @pipe_double_no_second_sync race grid=1
K pipe_double_no_second_sync(int *a, int *b, int n) {
    __shared__ int s[2][128];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], &a[t], 4);
    __pipeline_commit();
    int acc = 0;
    for (int k = 0; k < 8; k++) {
        if (k < 7) {
            __pipeline_memcpy_async(&s[(k + 1) & 1][t], &a[(k + 1) * 128 + t], 4);
        }
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();
        acc += s[k & 1][127 - t];
    }
    b[t] = acc;
}
// @cuda_pipeline_thread_ok ok grid=1
K cuda_pipeline_thread_ok(int *a, int *b, int n) {
    __shared__ int s[2][128];
    int t = threadIdx.x;
    auto p = cuda::make_pipeline();
    p.producer_acquire();
    cuda::memcpy_async(&s[0][t], &a[t], cuda::aligned_size_t<4>(4), p);
    p.producer_commit();
    int acc = 0;
    for (int k = 0; k < 8; k++) {
        p.producer_acquire();
        if (k < 7)
            cuda::memcpy_async(&s[(k + 1) & 1][t], &a[(k + 1) * 128 + t], cuda::aligned_size_t<4>(4), p);
        p.producer_commit();
        cuda::pipeline_consumer_wait_prior<1>(p);
        __syncthreads();
        acc += s[k & 1][127 - t];
        p.consumer_release();
        __syncthreads();
    }
    b[t] = acc;
}
// @cuda_pipeline_block_ok ok grid=1
K cuda_pipeline_block_ok(int *a, int *b, int n) {
    __shared__ int s[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;
    auto blk = cg::this_thread_block();
    auto p = cuda::make_pipeline(blk, &st);
    int t = threadIdx.x;
    int acc = 0;
    p.producer_acquire();
    cuda::memcpy_async(blk, s[0], a, 512, p);
    p.producer_commit();
    for (int k = 0; k < 8; k++) {
        if (k < 7) {
            p.producer_acquire();
            cuda::memcpy_async(blk, s[(k + 1) & 1], a + (k + 1) * 128, 512, p);
            p.producer_commit();
        }
        p.consumer_wait();
        acc += s[k & 1][127 - t];
        p.consumer_release();
    }
    b[t] = acc;
}
// @cuda_pipeline_block_norelease_read race grid=1
K cuda_pipeline_block_norelease_read(int *a, int *b, int n) {
    __shared__ int s[2][128];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;
    auto blk = cg::this_thread_block();
    auto p = cuda::make_pipeline(blk, &st);
    int t = threadIdx.x;
    int acc = 0;
    p.producer_acquire();
    cuda::memcpy_async(blk, s[0], a, 512, p);
    p.producer_commit();
    for (int k = 0; k < 8; k++) {
        if (k < 7) {
            p.producer_acquire();
            cuda::memcpy_async(blk, s[(k + 1) & 1], a + (k + 1) * 128, 512, p);
            p.producer_commit();
        }
        acc += s[k & 1][127 - t];
        p.consumer_wait();
        p.consumer_release();
    }
    b[t] = acc;
}
// @cuda_pipeline_partitioned_ok ok grid=1
K cuda_pipeline_partitioned_ok(int *a, int *b, int n) {
    __shared__ int s[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> st;
    auto blk = cg::this_thread_block();
    int t = threadIdx.x;
    auto role = t < 64 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto p = cuda::make_pipeline(blk, &st, role);
    if (t < 64) {
        for (int k = 0; k < 8; k++) {
            p.producer_acquire();
            cuda::memcpy_async(&s[k & 1][t], &a[k * 64 + t], cuda::aligned_size_t<4>(4), p);
            p.producer_commit();
        }
    } else {
        int acc = 0;
        for (int k = 0; k < 8; k++) {
            p.consumer_wait();
            acc += s[k & 1][127 - t];
            p.consumer_release();
        }
        b[t - 64] = acc;
    }
}
// @cuda_barrier_ok ok
K cuda_barrier_ok(int *a, int *b, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[128];
    int t = threadIdx.x;
    if (!t)
        init(&bar, 128);
    __syncthreads();
    for (int k = 0; k < 4; k++) {
        s[t] = a[TID] + k;
        bar.arrive_and_wait();
        int v = s[127 - t];
        bar.arrive_and_wait();
        b[TID] = v;
    }
}
// @cuda_barrier_missing_second race
K cuda_barrier_missing_second(int *a, int *b, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[128];
    int t = threadIdx.x;
    if (!t)
        init(&bar, 128);
    __syncthreads();
    for (int k = 0; k < 4; k++) {
        s[t] = a[TID] + k;
        bar.arrive_and_wait();
        int v = s[127 - t];
        b[TID] = v;
    }
}
// @cuda_barrier_no_init_sync race,init
K cuda_barrier_no_init_sync(int *a, int *b, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[128];
    int t = threadIdx.x;
    if (!t)
        init(&bar, 128);
    s[t] = a[TID];
    bar.arrive_and_wait();
    b[TID] = s[127 - t];
}
// @cuda_barrier_arrive_wait_ok ok
K cuda_barrier_arrive_wait_ok(int *a, int *b, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[128];
    int t = threadIdx.x;
    if (!t)
        init(&bar, 128);
    __syncthreads();
    s[t] = a[TID];
    auto tok = bar.arrive();
    int x = a[TID] * 2;
    bar.wait(std::move(tok));
    b[TID] = s[127 - t] + x;
}
// @cuda_barrier_read_before_wait race
K cuda_barrier_read_before_wait(int *a, int *b, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[128];
    int t = threadIdx.x;
    if (!t)
        init(&bar, 128);
    __syncthreads();
    s[t] = a[TID];
    auto tok = bar.arrive();
    int x = s[127 - t];
    bar.wait(std::move(tok));
    b[TID] = x;
}
// @cuda_barrier_write_after_arrive race
K cuda_barrier_write_after_arrive(int *a, int *b, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[128];
    int t = threadIdx.x;
    if (!t)
        init(&bar, 128);
    s[t] = 0;
    __syncthreads();
    auto tok = bar.arrive();
    s[t] = a[TID];
    bar.wait(std::move(tok));
    b[TID] = s[127 - t];
}
// @cuda_barrier_count_wrong barrier grid=1
K cuda_barrier_count_wrong(int *a, int *b, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> bar;
    __shared__ int s[128];
    int t = threadIdx.x;
    if (!t)
        init(&bar, 129);
    __syncthreads();
    s[t] = a[TID];
    bar.arrive_and_wait();
    b[TID] = s[127 - t];
}
// @cuda_barrier_producer_consumer_ok ok grid=1
K cuda_barrier_producer_consumer_ok(int *a, int *b, int n) {
    using B = cuda::barrier<cuda::thread_scope_block>;
    __shared__ B bar[4];
    __shared__ int s[2][64];
    int t = threadIdx.x;
    if (t < 4)
        init(&bar[t], 128);
    __syncthreads();
    if (t < 64) {
        for (int k = 0; k < 8; k++) {
            bar[k & 1].arrive_and_wait();
            s[k & 1][t] = a[k * 64 + t];
            (void)bar[2 + (k & 1)].arrive();
        }
    } else {
        (void)bar[0].arrive();
        (void)bar[1].arrive();
        int acc = 0;
        for (int k = 0; k < 8; k++) {
            bar[2 + (k & 1)].arrive_and_wait();
            acc += s[k & 1][127 - t];
            (void)bar[k & 1].arrive();
        }
        b[t - 64] = acc;
    }
}
// @cuda_barrier_memcpy_ok ok grid=1
K cuda_barrier_memcpy_ok(int *a, int *b, int n) {
    using B = cuda::barrier<cuda::thread_scope_block>;
    __shared__ B bar;
    __shared__ alignas(16) int s[128];
    int t = threadIdx.x;
    if (!t)
        init(&bar, 128);
    __syncthreads();
    auto blk = cg::this_thread_block();
    cuda::memcpy_async(blk, s, a, cuda::aligned_size_t<16>(512), bar);
    bar.arrive_and_wait();
    b[t] = s[127 - t];
}
// @cuda_barrier_memcpy_nowait race grid=1 only=async
K cuda_barrier_memcpy_nowait(int *a, int *b, int n) {
    using B = cuda::barrier<cuda::thread_scope_block>;
    __shared__ B bar;
    __shared__ alignas(16) int s[128];
    int t = threadIdx.x;
    if (!t)
        init(&bar, 128);
    __syncthreads();
    auto blk = cg::this_thread_block();
    cuda::memcpy_async(blk, s, a, cuda::aligned_size_t<16>(512), bar);
    __syncthreads();
    b[t] = s[127 - t];
    bar.arrive_and_wait();
}
// @cg_memcpy_ok ok grid=1
K cg_memcpy_ok(int *a, int *b, int n) {
    __shared__ alignas(16) int s[128];
    int t = threadIdx.x;
    auto blk = cg::this_thread_block();
    cg::memcpy_async(blk, s, a, 512);
    cg::wait(blk);
    b[t] = s[127 - t];
}
// @cg_memcpy_nowait race grid=1 only=async
K cg_memcpy_nowait(int *a, int *b, int n) {
    __shared__ alignas(16) int s[128];
    int t = threadIdx.x;
    auto blk = cg::this_thread_block();
    cg::memcpy_async(blk, s, a, 512);
    blk.sync();
    b[t] = s[127 - t];
}
// @cg_reduce_ok ok
K cg_reduce_ok(int *a, int *b, int n) {
    auto w = cg::tiled_partition<32>(cg::this_thread_block());
    int v = cg::reduce(w, a[TID], cg::plus<int>());
    if (w.thread_rank() == 0)
        atomicAdd(b, v);
}
// @cg_scan_ok ok
K cg_scan_ok(int *a, int *b, int n) {
    auto w = cg::tiled_partition<16>(cg::this_thread_block());
    b[TID] = cg::inclusive_scan(w, a[TID], cg::plus<int>());
}
// ---- memory
extern __shared__ int dyn[];
// @dyn_ok ok shared=1024
K dyn_ok(int *a, int *b, int n) {
    int *x = dyn;
    int *y = dyn + 128;
    int t = threadIdx.x;
    x[t] = a[TID];
    y[t] = t;
    __syncthreads();
    b[TID] = x[127 - t] + y[127 - t];
}
// @dyn_overlap race shared=1024
K dyn_overlap(int *a, int *b, int n) {
    int *x = dyn;
    int *y = dyn + 64;
    int t = threadIdx.x;
    x[t] = a[TID];
    y[t] = t;
    __syncthreads();
    b[TID] = x[127 - t] + y[127 - t];
}
// @dyn_too_small memory shared=512
K dyn_too_small(int *a, int *b, int n) {
    int *x = dyn;
    int *y = dyn + 128;
    int t = threadIdx.x;
    x[t] = a[TID];
    y[t] = t;
    __syncthreads();
    b[TID] = x[127 - t] + y[127 - t];
}
// @shared_off_by_one memory
K shared_off_by_one(int *a, int *b, int n) {
    __shared__ int s[128];
    __shared__ int u[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    u[t] = 0;
    __syncthreads();
    b[TID] = s[t + 1] + u[t];
}
// @shared_negative memory
K shared_negative(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    b[TID] = s[t - 1];
}
// @pitch_ok ok
K pitch_ok(int *a, int *b, int n) {
    int x = threadIdx.x & 15, y = (blockIdx.x * 8) + (threadIdx.x >> 4);
    int *row = (int *)((char *)b + y * 96);
    row[x] = a[TID];
}
// @global_neg memory
K global_neg(int *a, int *b, int n) {
    int i = TID;
    b[i] = a[i - 1];
}
// @misaligned memory only=optimised
K misaligned(int *a, int *b, int n) {
    int2 *p = (int2 *)(a + 1);
    int2 v = p[TID / 4];
    b[TID] = v.x + v.y;
}
// @null_deref memory
K null_deref(int *a, int *b, int n) {
    int *p = (int *)(unsigned long long)(n - 1024);
    b[TID] = p[0];
}
// @local_oob memory
K local_oob(int *a, int *b, int n) {
    int l[8];
    for (int k = 0; k < 8; k++)
        l[k] = a[k];
    b[TID] = l[a[TID] >= 0 ? 1000000 + TID : 0];
}
// @local_uninit init
K local_uninit(int *a, int *b, int n) {
    int l[8];
    int m = a[TID] & 7;
    l[m] = 3;
    b[TID] = l[(m + 1) & 7];
}
// @local_ok ok
K local_ok(int *a, int *b, int n) {
    int l[8];
    for (int k = 0; k < 8; k++)
        l[k] = a[k];
    b[TID] = l[a[TID] & 7];
}
// @malloc_ok ok
K malloc_ok(int *a, int *b, int n) {
    int *p = (int *)malloc(16);
    if (!p)
        return;
    p[0] = a[TID];
    p[1] = p[0] + 1;
    b[TID] = p[1];
    free(p);
}
// @malloc_uninit init
K malloc_uninit(int *a, int *b, int n) {
    int *p = (int *)malloc(16);
    if (!p)
        return;
    p[0] = a[TID];
    b[TID] = p[1];
    free(p);
}
// @malloc_oob memory
K malloc_oob(int *a, int *b, int n) {
    int *p = (int *)malloc(16);
    if (!p)
        return;
    for (int k = 0; k < 64 * n; k++)
        p[k] = k;
    b[TID] = p[0];
    free(p);
}
// @malloc_uaf memory
K malloc_uaf(int *a, int *b, int n) {
    int *p = (int *)malloc(16);
    if (!p)
        return;
    p[0] = a[TID];
    free(p);
    b[TID] = p[0];
}
// @double_free memory
K double_free(int *a, int *b, int n) {
    int *p = (int *)malloc(16);
    free(p);
    free(p);
    b[TID] = 1;
}
// ---- init
// @uninit_global init a=none
K uninit_global(int *a, int *b, int n) { b[TID] = a[TID]; }
// @uninit_branch init a=none
K uninit_branch(int *a, int *b, int n) {
    if (a[TID] > 3)
        b[TID] = 1;
}
// @uninit_half init
K uninit_half(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t < 100)
        s[t] = a[TID];
    __syncthreads();
    b[TID] = s[t];
}
// @uninit_guarded_ok ok
K uninit_guarded_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t < 100)
        s[t] = a[TID];
    __syncthreads();
    b[TID] = t < 100 ? s[t] : 0;
}
// @uninit_read_unused_ok ok
K uninit_read_unused_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t < 100)
        s[t] = a[TID];
    __syncthreads();
    int v = s[t];
    b[TID] = (t < 100) * 0 + (t < 100 ? v : 5);
}
// @uninit_out init b=none
K uninit_out(int *a, int *b, int n) {
    int i = TID;
    if (a[i] != 77)
        b[i] = 1;
}
// @out_all_ok ok b=none grid=8
K out_all_ok(int *a, int *b, int n) {
    int i = TID;
    b[i] = a[i];
}
// @padding_ok ok b=none grid=4
struct P {
    char c;
    int i;
};
K padding_ok(int *a, int *b, int n) {
    P *p = (P *)b;
    int i = TID;
    p[i].c = 1;
    p[i].i = a[i];
}
// @struct_copy_padding_ok ok
struct P2 {
    char c;
    int i;
    short s;
};
K struct_copy_padding_ok(int *a, int *b, int n) {
    __shared__ P2 s[128];
    int t = threadIdx.x;
    P2 x;
    x.c = t;
    x.i = a[TID];
    x.s = 3;
    s[t] = x;
    __syncthreads();
    P2 y = s[127 - t];
    b[TID] = y.c + y.i + y.s;
}
// @uninit_64_half init
K uninit_64_half(int *a, int *b, int n) {
    __shared__ long long s[128];
    int t = threadIdx.x;
    ((int *)s)[2 * t] = a[TID];
    __syncthreads();
    long long v = s[t];
    if (v > 5)
        b[TID] = 1;
}
// @half_64_low_ok ok
K half_64_low_ok(int *a, int *b, int n) {
    __shared__ long long s[128];
    int t = threadIdx.x;
    ((int *)s)[2 * t] = a[TID];
    __syncthreads();
    long long v = s[t];
    b[TID] = (int)v;
}
// @bytes_pack_ok ok
K bytes_pack_ok(int *a, int *b, int n) {
    __shared__ unsigned s[128];
    int t = threadIdx.x;
    ((unsigned char *)s)[4 * t + 1] = a[TID];
    __syncthreads();
    b[TID] = (s[t] >> 8) & 0xff;
}
// @bytes_pack_and_ok ok
K bytes_pack_and_ok(int *a, int *b, int n) {
    __shared__ unsigned s[128];
    int t = threadIdx.x;
    ((unsigned char *)s)[4 * t + 1] = a[TID];
    __syncthreads();
    unsigned m = n - 1024 + 0xff00;
    unsigned v = s[t] & m;
    if (v > 256)
        b[TID] = v;
    else
        b[TID] = __byte_perm(s[t], 0, 0x4441);
}
// @bytes_pack_bad init
K bytes_pack_bad(int *a, int *b, int n) {
    __shared__ unsigned s[128];
    int t = threadIdx.x;
    ((unsigned char *)s)[4 * t + 1] = a[TID];
    __syncthreads();
    unsigned v = s[t];
    if (v > 256)
        b[TID] = 1;
}
// @setp_and_undefined_ok ok
K setp_and_undefined_ok(int *a, int *b, int n) {
    __shared__ int s[129];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    int v = s[t + 1];
    bool p = (t < 127) & (v > 5);
    if (p)
        b[TID] = 1;
}
// @setp_or_undefined_ok ok
K setp_or_undefined_ok(int *a, int *b, int n) {
    __shared__ int s[129];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    int v = s[t + 1];
    bool p = (t >= 127) | (v > 5);
    b[TID] = p ? 1 : 0;
}
// @merge_sort_like_ok ok
K merge_sort_like_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t < 100)
        s[t] = a[TID];
    __syncthreads();
    int i = 0, j = 50;
    int ka = s[0], kb = s[50];
    int out[4];
    for (int k = 0; k < 100; k++) {
        bool p = (j < 100) && ((i >= 50) || (kb < ka));
        int r = p ? kb : ka;
        if (k / 4 == t)
            out[k & 3] = r;
        if (p)
            kb = s[++j < 128 ? j : 127];
        else
            ka = s[++i];
    }
    if (t < 25)
        for (int k = 0; k < 4; k++)
            b[blockIdx.x * 128 + 4 * t + k] = out[k];
}
// @merge_masked_ok ok
K merge_masked_ok(int *a, int *b, int n) {
    __shared__ int s[256];
    int t = threadIdx.x;
    if (t < 100)
        s[t] = a[TID];
    __syncthreads();
    int i = t, j = t + 1;
    int x = s[i], y = s[j];
    bool p = (j < 100) && ((i >= 100) || (y < x));
    b[TID] = p ? y : (i < 100 ? x : 0);
}
// @mux_bitmask_ok ok
K mux_bitmask_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t < 64)
        s[t] = a[TID];
    __syncthreads();
    int m = t < 64 ? -1 : 0;
    b[TID] = (s[t] & m) | (7 & ~m);
}
// @mul_zero_ok ok
K mul_zero_ok(int *a, int *b, int n) {
    __shared__ float s[128];
    int t = threadIdx.x;
    if (t < 64)
        s[t] = a[TID];
    __syncthreads();
    float v = 0.f;
    if (t < 64)
        v = s[t];
    b[TID] = (int)(v * 2.f);
}
// @atomic_uninit init
K atomic_uninit(int *a, int *b, int n) {
    __shared__ int c;
    atomicAdd(&c, 1);
    __syncthreads();
    b[TID] = c;
}
// @uninit_address init
K uninit_address(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    if (t != 5)
        s[t] = t;
    __syncthreads();
    b[s[t] & 127] = 1;
}
// @uninit_shfl_ok ok
K uninit_shfl_ok(int *a, int *b, int n) {
    int i = TID;
    int v = a[i];
    int u = __shfl_up_sync(~0u, v, 1);
    if ((threadIdx.x & 31) >= 1)
        v += u;
    b[i] = v;
}
// @odd_words_missing init b=none grid=4
K odd_words_missing(int *a, int *b, int n) { b[2 * TID] = a[TID]; }
// @vec_dup race
K vec_dup(int *a, int *b, int n) {
    int i = TID;
    int4 v = ((int4 *)a)[i / 2];
    ((int4 *)b)[i / 4] = v;
}
// @vec_ok2 ok grid=2
K vec_ok2(int *a, int *b, int n) {
    int i = TID;
    int4 v = ((int4 *)a)[i];
    v.x++;
    ((int4 *)b)[i] = v;
}
// @vec_overlap race grid=2
K vec_overlap(int *a, int *b, int n) {
    int i = TID;
    int4 v = ((int4 *)a)[i];
    v.x++;
    *(int4 *)(b + 4 * (i / 2)) = v;
}
// ---- transposes, matmul, scan
// @transpose_ok ok grid=1 block=16,16
K transpose_ok(int *a, int *b, int n) {
    __shared__ int s[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    s[y][x] = a[y * 16 + x];
    __syncthreads();
    b[y * 16 + x] = s[x][y];
}
// @transpose_nosync race grid=1 block=16,16
K transpose_nosync(int *a, int *b, int n) {
    __shared__ int s[16][17];
    int x = threadIdx.x, y = threadIdx.y;
    s[y][x] = a[y * 16 + x];
    b[y * 16 + x] = s[x][y];
}
// @matmul_ok ok grid=1 block=16,16
K matmul_ok(int *a, int *b, int n) {
    __shared__ float A[16][16], B[16][16];
    float acc = 0;
    int x = threadIdx.x, y = threadIdx.y;
    for (int k = 0; k < 2; k++) {
        A[y][x] = a[y * 32 + k * 16 + x];
        B[y][x] = a[(k * 16 + y) * 16 + x];
        __syncthreads();
        for (int q = 0; q < 16; q++)
            acc += A[y][q] * B[q][x];
        __syncthreads();
    }
    b[y * 16 + x] = acc;
}
// @matmul_no_second race grid=1 block=16,16
K matmul_no_second(int *a, int *b, int n) {
    __shared__ float A[16][16], B[16][16];
    float acc = 0;
    int x = threadIdx.x, y = threadIdx.y;
    for (int k = 0; k < 2; k++) {
        A[y][x] = a[y * 32 + k * 16 + x];
        B[y][x] = a[(k * 16 + y) * 16 + x];
        __syncthreads();
        for (int q = 0; q < 16; q++)
            acc += A[y][q] * B[q][x];
    }
    b[y * 16 + x] = acc;
}
// @matmul_syncwarp race grid=1 block=16,16
K matmul_syncwarp(int *a, int *b, int n) {
    __shared__ float A[16][16], B[16][16];
    float acc = 0;
    int x = threadIdx.x, y = threadIdx.y;
    for (int k = 0; k < 2; k++) {
        A[y][x] = a[y * 32 + k * 16 + x];
        B[y][x] = a[(k * 16 + y) * 16 + x];
        __syncwarp();
        for (int q = 0; q < 16; q++)
            acc += A[y][q] * B[q][x];
        __syncthreads();
    }
    b[y * 16 + x] = acc;
}
// @scan_ok ok
K scan_ok(int *a, int *b, int n) {
    __shared__ int s[2][128];
    int t = threadIdx.x;
    int o = 0;
    s[0][t] = a[TID];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        o ^= 1;
        s[o][t] = t >= d ? s[o ^ 1][t] + s[o ^ 1][t - d] : s[o ^ 1][t];
        __syncthreads();
    }
    b[TID] = s[o][t];
}
// @scan_inplace race
K scan_inplace(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    for (int d = 1; d < 128; d *= 2) {
        if (t >= d)
            s[t] += s[t - d];
        __syncthreads();
    }
    b[TID] = s[t];
}
// @bitonic_ok ok
K bitonic_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    for (int k = 2; k <= 128; k *= 2)
        for (int j = k / 2; j; j /= 2) {
            int p = t ^ j;
            if (p > t) {
                bool up = (t & k) == 0;
                if ((s[t] > s[p]) == up) {
                    int x = s[t];
                    s[t] = s[p];
                    s[p] = x;
                }
            }
            __syncthreads();
        }
    b[TID] = s[t];
}
// @bitonic_nosync race
K bitonic_nosync(int *a, int *b, int n) {
    __shared__ int s[128];
    int t = threadIdx.x;
    s[t] = a[TID];
    __syncthreads();
    for (int k = 2; k <= 128; k *= 2) {
        for (int j = k / 2; j; j /= 2) {
            int p = t ^ j;
            if (p > t) {
                bool up = (t & k) == 0;
                if ((s[t] > s[p]) == up) {
                    int x = s[t];
                    s[t] = s[p];
                    s[p] = x;
                }
            }
        }
        __syncthreads();
    }
    b[TID] = s[t];
}
// @decoupled_lookback_ok ok
K decoupled_lookback_ok(int *a, int *b, int n) {
    __shared__ int sum, pre;
    int t = threadIdx.x;
    if (!t)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, a[TID]);
    __syncthreads();
    volatile int *fl = b + 512;
    volatile int *val = b + 600;
    if (!t) {
        int p = 0;
        if (blockIdx.x) {
            while (fl[blockIdx.x - 1] == 0)
                ;
            __threadfence();
            p = val[blockIdx.x - 1];
        }
        val[blockIdx.x] = p + sum;
        __threadfence();
        fl[blockIdx.x] = 1;
        pre = p;
    }
    __syncthreads();
    b[TID] = pre + t;
}
// @packed64_lookback_ok ok
K packed64_lookback_ok(int *a, int *b, int n) {
    __shared__ int sum, pre;
    int t = threadIdx.x;
    if (!t)
        sum = 0;
    __syncthreads();
    atomicAdd(&sum, a[TID]);
    __syncthreads();
    volatile unsigned long long *st = (volatile unsigned long long *)(b + 600);
    if (!t) {
        unsigned p = 0;
        if (blockIdx.x) {
            unsigned long long v;
            do
                v = st[blockIdx.x - 1];
            while ((v >> 32) == 0);
            p = (unsigned)v;
        }
        st[blockIdx.x] = (1ull << 32) | (p + sum);
        pre = p;
    }
    __syncthreads();
    b[TID] = pre + t;
}
// @device_fn_ptr_ok ok
__device__ __noinline__ int addf(int x, int y) { return x + y; }
__device__ __noinline__ int subf(int x, int y) { return x - y; }
__device__ int (*fs[2])(int, int) = {addf, subf};
K device_fn_ptr_ok(int *a, int *b, int n) { b[TID] = fs[TID & 1](a[TID], 3); }
// @noinline_struct_ok ok
struct V3 {
    float x, y, z;
};
__device__ __noinline__ V3 mk(float a) {
    V3 v;
    v.x = a;
    v.y = a + 1;
    v.z = a + 2;
    return v;
}
K noinline_struct_ok(int *a, int *b, int n) {
    V3 v = mk(a[TID]);
    b[TID] = (int)(v.x + v.y + v.z);
}
// @noinline_uninit_arg init
__device__ __noinline__ int use(int x) { return x > 3 ? 1 : 2; }
K noinline_uninit_arg(int *a, int *b, int n) {
    __shared__ int s[128];
    b[TID] = use(s[threadIdx.x]);
}
// @noinline_ptr_race race
__device__ __noinline__ void put(int *p, int v) { *p = v; }
K noinline_ptr_race(int *a, int *b, int n) {
    __shared__ int s[128];
    put(&s[threadIdx.x / 2], a[TID]);
    __syncthreads();
    b[TID] = s[threadIdx.x / 2];
}
// @recursion_ok ok
__device__ __noinline__ int fib(int k) { return k < 2 ? k : fib(k - 1) + fib(k - 2); }
K recursion_ok(int *a, int *b, int n) { b[TID] = fib(a[TID] & 7); }
// @const_ok ok
__constant__ int tbl[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
K const_ok(int *a, int *b, int n) { b[TID] = tbl[a[TID] & 15]; }
// @const_oob memory
K const_oob(int *a, int *b, int n) { b[TID] = tbl[(a[TID] & 15) + 70000]; }
// @threadfence_system_ok ok grid=2
K threadfence_system_ok(int *a, int *b, int n) {
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        b[0] = 1;
        __threadfence_system();
        atomicExch_system(b + 64, 1);
    } else {
        while (atomicOr_system(b + 64, 0) == 0)
            ;
        __threadfence_system();
        b[2] = b[0];
    }
}
// @dekker_ok ok grid=1 block=64
K dekker_ok(int *a, int *b, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> x(b[0]), y(b[32]);
    if (threadIdx.x == 0) {
        x.store(1);
        b[100] = y.load();
    }
    if (threadIdx.x == 32) {
        y.store(1);
        b[101] = x.load();
    }
}
// @cuda_atomic_thread_fence_ok ok grid=2
K cuda_atomic_thread_fence_ok(int *a, int *b, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> f(b[100]);
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        b[0] = 42;
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
        f.store(1, cuda::memory_order_relaxed);
    } else {
        while (f.load(cuda::memory_order_relaxed) == 0)
            ;
        cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
        b[1] = b[0];
    }
}
// @cuda_atomic_fence_block race grid=2
K cuda_atomic_fence_block(int *a, int *b, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> f(b[100]);
    if (threadIdx.x)
        return;
    if (blockIdx.x == 0) {
        b[0] = 42;
        cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_block);
        f.store(1, cuda::memory_order_relaxed);
    } else {
        while (f.load(cuda::memory_order_relaxed) == 0)
            ;
        cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_block);
        b[1] = b[0];
    }
}
// @shared_flag_ok ok grid=1 block=64
K shared_flag_ok(int *a, int *b, int n) {
    __shared__ volatile int f;
    __shared__ int d;
    int t = threadIdx.x;
    if (!t)
        f = 0;
    __syncthreads();
    if (t == 0) {
        d = 7;
        __threadfence_block();
        f = 1;
    }
    if (t == 32) {
        while (f == 0)
            ;
        __threadfence_block();
        b[0] = d;
    }
}
// @shared_flag_nofence race grid=1 block=64
K shared_flag_nofence(int *a, int *b, int n) {
    __shared__ volatile int f;
    __shared__ int d;
    int t = threadIdx.x;
    if (!t) {
        f = 0;
        d = a[5];
    }
    __syncthreads();
    if (t == 0) {
        d = a[7];
        f = 1;
    }
    if (t == 32) {
        while (f == 0)
            ;
        b[0] = d;
    }
}
// @grid_stride_ok ok
K grid_stride_ok(int *a, int *b, int n) {
    for (int i = TID; i < n; i += gridDim.x * blockDim.x)
        b[i] = a[i] * 2;
}
// @grid_stride_wrong race
K grid_stride_wrong(int *a, int *b, int n) {
    for (int i = TID; i < n; i += blockDim.x)
        b[i] = a[i] + blockIdx.x;
}
// @printf_assert_ok ok
K printf_assert_ok(int *a, int *b, int n) {
    if (TID == 5)
        printf("hi %d\n", a[5]);
    b[TID] = 1;
}
