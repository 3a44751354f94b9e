// Labelled programs: accesses by one too far in each space, the heap of a kernel, bytes and bit fields, values that were
// never written, deadlocks.
//
// The line above each kernel is as in suites.cu.
// nvcc -arch=compute_90 -std=c++17 -O3 -ptx spaces.cu -o spaces.ptx && gzip -9n spaces.ptx
#include <cuda/atomic>
#include <cuda_pipeline.h>
#include <mma.h>
#define K extern "C" __global__ void
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
__device__ int g_table[64];
__constant__ int c_table[64];
// @global_variable_ok ok
K global_variable_ok(int *a, int *b, int n) { b[TID] = g_table[TID % 64] + a[TID]; }
// @global_variable_oob memory
K global_variable_oob(int *a, int *b, int n) { b[TID] = g_table[TID % 65] + a[TID]; }
// @const_table_oob memory
K const_table_oob(int *a, int *b, int n) { b[TID] = c_table[a[TID] % 66] + a[TID]; }
// @const_table_ok ok
K const_table_ok(int *a, int *b, int n) { b[TID] = c_table[a[TID] % 64] + a[TID]; }
// @const_write memory
K const_write(int *a, int *b, int n) { int *p = (int *)c_table; if (n > 0) p[TID % 64] = a[TID]; b[TID] = p[0]; }
// @last_int4_oob memory
K last_int4_oob(int *a, int *b, int n) { ((int4 *)b)[TID] = ((int4 *)a)[TID]; }
// @int4_ok ok grid=2
K int4_ok(int *a, int *b, int n) { ((int4 *)b)[TID] = ((int4 *)a)[TID]; }
// @int4_misaligned memory grid=1 only=optimised
K int4_misaligned(int *a, int *b, int n) { *((int4 *)(b + 1) + TID) = make_int4(1, 2, 3, 4); }
// @double_misaligned memory grid=1
K double_misaligned(int *a, int *b, int n) { *(double *)((char *)b + 8 * TID + 4) = 1.0; }
// @short_misaligned memory grid=1
K short_misaligned(int *a, int *b, int n) { *(short *)((char *)b + 2 * TID + 1) = 1; }
// @two_shared_adjacent_oob memory,race
K two_shared_adjacent_oob(int *a, int *b, int n) {
    __shared__ int x[64], y[64];
    int t = threadIdx.x;
    if (t < 64) { x[t] = a[t]; y[t] = 0; }
    __syncthreads();
    if (t < 64) x[t + 1] = a[t];
    __syncthreads();
    if (t < 64) b[TID] = x[t] + y[t];
}
// @two_shared_adjacent_ok ok
K two_shared_adjacent_ok(int *a, int *b, int n) {
    __shared__ int x[64], y[64];
    int t = threadIdx.x;
    if (t < 64) { x[t] = a[t]; y[t] = 0; }
    __syncthreads();
    if (t < 63) x[t + 1] = a[t];
    __syncthreads();
    if (t < 64) b[TID] = x[t] + y[t];
}
// @shared_2d_row_over memory
K shared_2d_row_over(int *a, int *b, int n) {
    __shared__ int t[16][8];
    int x = threadIdx.x % 8, y = threadIdx.x / 8;
    t[y + 1][x] = a[TID];
    __syncthreads();
    b[TID] = t[y][x];
}
// @dynamic_shared_oob memory shared=512
K dynamic_shared_oob(int *a, int *b, int n) {
    extern __shared__ int d[];
    d[threadIdx.x + 1] = a[TID];
    __syncthreads();
    b[TID] = d[127 - threadIdx.x + 1];
}
// @dynamic_shared_ok ok shared=516
K dynamic_shared_ok(int *a, int *b, int n) {
    extern __shared__ int d[];
    d[threadIdx.x + 1] = a[TID];
    __syncthreads();
    b[TID] = d[127 - threadIdx.x + 1];
}
// @local_over memory
K local_over(int *a, int *b, int n) {
    int l[8];
    for (int i = 0; i <= a[1000] % 9 + 8; i++) l[i] = a[i];
    b[TID] = l[a[TID] % 8];
}
// @local_ok ok
K local_ok(int *a, int *b, int n) {
    int l[9];
    for (int i = 0; i <= a[1000] % 9 + 7; i++) l[i] = a[i];
    b[TID] = l[a[TID] % 8];
}
// @param_array_over memory
struct P { int v[4]; };
__device__ __noinline__ int pick(const P &p, int i) { return p.v[i]; }
K param_array_over(int *a, int *b, int n) { P p; for (int i = 0; i < 4; i++) p.v[i] = a[i]; b[TID] = pick(p, 4 + a[TID] % 2000); }
// @heap_ok ok
K heap_ok(int *a, int *b, int n) {
    int *p = (int *)malloc(16 * sizeof(int));
    if (!p) return;
    for (int i = 0; i < 16; i++) p[i] = a[TID] + i;
    b[TID] = p[15];
    free(p);
}
// @heap_oob memory
K heap_oob(int *a, int *b, int n) {
    int *p = (int *)malloc(16 * sizeof(int));
    if (!p) return;
    for (int i = 0; i <= 16; i++) p[i] = a[TID] + i;
    b[TID] = p[15];
    free(p);
}
// @heap_double_free memory
K heap_double_free(int *a, int *b, int n) { int *p = (int *)malloc(64); b[TID] = p != 0; free(p); if (TID == 3) free(p); }
// @heap_free_inside memory
K heap_free_inside(int *a, int *b, int n) { int *p = (int *)malloc(64); b[TID] = p != 0; free(p + 1); }
// @heap_free_of_global memory
K heap_free_of_global(int *a, int *b, int n) { if (TID == 0) free(a); }
// @heap_uaf memory
K heap_uaf(int *a, int *b, int n) { int *p = (int *)malloc(64); p[0] = 3; free(p); b[TID] = p[0]; }
// @heap_uninit init
K heap_uninit(int *a, int *b, int n) { int *p = (int *)malloc(64); p[0] = 3; b[TID] = p[1]; free(p); }
// @heap_shared_pointer_ok ok
K heap_shared_pointer_ok(int *a, int *b, int n) {
    __shared__ int *p;
    if (threadIdx.x == 0) p = (int *)malloc(128 * sizeof(int));
    __syncthreads();
    p[threadIdx.x] = a[TID];
    __syncthreads();
    b[TID] = p[127 - threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) free(p);
}
// @heap_shared_pointer_freed_early race,memory
K heap_shared_pointer_freed_early(int *a, int *b, int n) {
    __shared__ int *p;
    if (threadIdx.x == 0) p = (int *)malloc(128 * sizeof(int));
    __syncthreads();
    p[threadIdx.x] = a[TID];
    __syncthreads();
    b[TID] = p[127 - threadIdx.x];
    if (threadIdx.x == 0) free(p);
}
// @heap_pointer_no_sync init,race,memory
K heap_pointer_no_sync(int *a, int *b, int n) {
    __shared__ int *p;
    if (threadIdx.x == 0) p = (int *)malloc(128 * sizeof(int));
    p[threadIdx.x] = a[TID];
    __syncthreads();
    b[TID] = p[127 - threadIdx.x];
}
// @negative_by_halo memory
K negative_by_halo(int *a, int *b, int n) { b[TID] = a[TID] + a[(int)TID - 1]; }
// @negative_by_halo_ok ok
K negative_by_halo_ok(int *a, int *b, int n) { b[TID] = a[TID] + (TID > 0 ? a[(int)TID - 1] : 0); }
// @recursion_ok ok
__device__ __noinline__ int depth(int d, const int *a) { int l[4] = {a[d], a[d + 1], d, 0}; return d <= 0 ? l[0] : depth(d - 1, a) + l[a[d] & 3]; }
K recursion_ok(int *a, int *b, int n) { b[TID] = depth(8, a); }
// @recursion_endless memory
K recursion_endless(int *a, int *b, int n) { b[TID] = depth(1 << 28, a - (1 << 20) + (1 << 20)); }
// @virtual_call_ok ok
struct Base { __device__ virtual int f(int x) = 0; };
struct One : Base { int k; __device__ One(int k) : k(k) {} __device__ int f(int x) override { return x + k; } };
struct Two : Base { __device__ int f(int x) override { return x * 2; } };
K virtual_call_ok(int *a, int *b, int n) { One o(3); Two t; Base *p = a[TID] & 1 ? (Base *)&o : (Base *)&t; b[TID] = p->f(a[TID]); }
// @nc_then_write race
K nc_then_write(const int *__restrict__ a, int *__restrict__ b, int n) {
    if (threadIdx.x == 0 && blockIdx.x == 0) b[1] = a[0];
    if (blockIdx.x == 1) b[512 + threadIdx.x] = b[1];
}
// ---- bits and bytes
struct Bits { unsigned x : 4, y : 12, z : 16; };
// @bits_own_thread_ok ok
K bits_own_thread_ok(int *a, int *b, int n) { Bits *p = (Bits *)b; p[TID].x = 3; p[TID].z = a[TID]; p[TID].y = 7; }
// @bits_two_threads race
K bits_two_threads(int *a, int *b, int n) { Bits *p = (Bits *)b; if (TID & 1) p[TID / 2].x = 3; else p[TID / 2].y = 7; }
// @bytes_adjacent_ok ok
K bytes_adjacent_ok(int *a, int *b, int n) { ((char *)b)[TID] = a[TID]; __syncthreads(); if (threadIdx.x < 32) b[512 + blockIdx.x * 32 + threadIdx.x] = b[blockIdx.x * 32 + threadIdx.x]; }
// @bytes_read_wide_no_sync race
K bytes_read_wide_no_sync(int *a, int *b, int n) { ((char *)b)[TID] = a[TID]; if (threadIdx.x < 32) b[512 + blockIdx.x * 32 + threadIdx.x] = b[blockIdx.x * 32 + threadIdx.x]; }
// @char4_component race
K char4_component(int *a, int *b, int n) { __shared__ char4 s[32]; s[threadIdx.x / 4].x = threadIdx.x; __syncthreads(); b[TID] = s[threadIdx.x / 4].x; }
// @char4_components_ok ok
K char4_components_ok(int *a, int *b, int n) {
    __shared__ char4 s[32];
    ((char *)&s[threadIdx.x / 4])[threadIdx.x % 4] = threadIdx.x;
    __syncthreads();
    b[TID] = s[threadIdx.x / 4].x;
}
// ---- init
// @shared_tail_uninit init
K shared_tail_uninit(int *a, int *b, int n) {
    __shared__ int s[128];
    if (threadIdx.x < 127) s[threadIdx.x] = a[TID];
    __syncthreads();
    for (int o = 64; o; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; __syncthreads(); }
    if (threadIdx.x == 0) b[blockIdx.x] = s[0];
}
// @shared_tail_zeroed_ok ok
K shared_tail_zeroed_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    s[threadIdx.x] = threadIdx.x < 127 ? a[TID] : 0;
    __syncthreads();
    for (int o = 64; o; o >>= 1) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; __syncthreads(); }
    if (threadIdx.x == 0) b[blockIdx.x] = s[0];
}
// @input_uninit init a=none
K input_uninit(int *a, int *b, int n) { b[TID] = a[TID] + 1; }
// @input_uninit_unused_ok ok a=none
K input_uninit_unused_ok(int *a, int *b, int n) { int x = a[TID]; b[TID] = x & 0; }
// @accumulate_uninit_out init b=none
K accumulate_uninit_out(int *a, int *b, int n) { b[TID] += a[TID]; }
// @atomic_uninit_out init b=none
K atomic_uninit_out(int *a, int *b, int n) { atomicAdd(&b[TID % 4], a[TID]); }
// @out_partial init b=none
K out_partial(int *a, int *b, int n) { if (TID < n - 1) b[TID] = a[TID]; }
// @out_whole_ok ok b=none grid=8
K out_whole_ok(int *a, int *b, int n) { if (TID < n) b[TID] = a[TID]; }
// @struct_padding_ok ok b=none
struct Pad { char c; int v; };
K struct_padding_ok(int *a, int *b, int n) { Pad p; p.c = a[TID]; p.v = a[TID]; ((Pad *)b)[TID] = p; }
// @struct_field_unset init b=none
struct Tri { int x, y, z, w; };
K struct_field_unset(int *a, int *b, int n) { if (TID < 256) { Tri t; t.x = a[TID]; t.y = 2; t.w = 4; ((Tri *)b)[TID] = t; } }
// @local_unset_branch init
K local_unset_branch(int *a, int *b, int n) {
    int l[4];
    for (int i = 0; i < 3; i++) l[i] = a[i + TID];
    if (l[a[TID] % 4] > 5) b[TID] = 1;
}
// @local_set_branch_ok ok
K local_set_branch_ok(int *a, int *b, int n) {
    int l[4];
    for (int i = 0; i < 4; i++) l[i] = a[(i + TID) % n];
    if (l[a[TID] % 4] > 5) b[TID] = 1;
}
// @cp_async_zfill_ok ok
K cp_async_zfill_ok(int *a, int *b, int n) {
    __shared__ alignas(16) int s[512];
    __pipeline_memcpy_async(&s[4 * threadIdx.x], &a[4 * threadIdx.x], 16, threadIdx.x < 100 ? 0 : 8);
    __pipeline_commit(); __pipeline_wait_prior(0);
    __syncthreads();
    b[TID] = s[(threadIdx.x * 5) % 512];
}
// @cp_async_uninit_source init a=none
K cp_async_uninit_source(int *a, int *b, int n) {
    __shared__ alignas(16) int s[512];
    __pipeline_memcpy_async(&s[4 * threadIdx.x], &a[4 * threadIdx.x], 16);
    __pipeline_commit(); __pipeline_wait_prior(0);
    __syncthreads();
    b[TID] = s[(threadIdx.x * 5) % 512];
}
// @wmma_ok ok grid=1 block=32
K wmma_ok(int *a, int *b, int n) {
    using namespace nvcuda::wmma;
    __shared__ alignas(32) __half A[256], B[256];
    for (int i = threadIdx.x; i < 256; i += 32) { A[i] = __int2half_rn(a[i] & 3); B[i] = __int2half_rn(a[i] & 7); }
    __syncwarp();
    fragment<matrix_a, 16, 16, 16, __half, row_major> x; fragment<matrix_b, 16, 16, 16, __half, row_major> y; fragment<accumulator, 16, 16, 16, float> z;
    fill_fragment(z, 0.f); load_matrix_sync(x, A, 16); load_matrix_sync(y, B, 16); mma_sync(z, x, y, z);
    store_matrix_sync((float *)b, z, 16, mem_row_major);
}
// @wmma_unfilled init grid=1 block=32 b=none
K wmma_unfilled(int *a, int *b, int n) {
    using namespace nvcuda::wmma;
    __shared__ alignas(32) __half A[256], B[256];
    for (int i = threadIdx.x; i < 256; i += 32) { A[i] = __int2half_rn(a[i] & 3); if (i < 250) B[i] = __int2half_rn(a[i] & 7); }
    __syncwarp();
    fragment<matrix_a, 16, 16, 16, __half, row_major> x; fragment<matrix_b, 16, 16, 16, __half, row_major> y; fragment<accumulator, 16, 16, 16, float> z;
    fill_fragment(z, 0.f); load_matrix_sync(x, A, 16); load_matrix_sync(y, B, 16); mma_sync(z, x, y, z);
    store_matrix_sync((float *)b, z, 16, mem_row_major);
}
// @wmma_no_sync race grid=1 block=32
K wmma_no_sync(int *a, int *b, int n) {
    using namespace nvcuda::wmma;
    __shared__ alignas(32) __half A[256], B[256];
    for (int i = threadIdx.x; i < 256; i += 32) { A[i] = __int2half_rn(a[i] & 3); B[i] = __int2half_rn(a[i] & 7); }
    fragment<matrix_a, 16, 16, 16, __half, row_major> x; fragment<matrix_b, 16, 16, 16, __half, row_major> y; fragment<accumulator, 16, 16, 16, float> z;
    fill_fragment(z, 0.f); load_matrix_sync(x, A, 16); load_matrix_sync(y, B, 16); mma_sync(z, x, y, z);
    store_matrix_sync((float *)b, z, 16, mem_row_major);
}
// ---- barriers and deadlocks
// @sync_early_return_in_loop barrier
K sync_early_return_in_loop(int *a, int *b, int n) { for (int i = 0; i < 4; i++) { if (a[TID] % 5 == i) return; __syncthreads(); } b[TID] = 1; }
// @sync_uniform_loop_ok ok
K sync_uniform_loop_ok(int *a, int *b, int n) { __shared__ int s[128]; for (int i = 0; i < a[4]; i++) { s[threadIdx.x] = i; __syncthreads(); b[TID] = s[threadIdx.x ^ 1]; __syncthreads(); } }
// @named_pair_ok ok
K named_pair_ok(int *a, int *b, int n) {
    __shared__ int s[64];
    if (threadIdx.x < 64) { s[threadIdx.x] = a[TID]; asm volatile("bar.arrive 1, 128;" ::: "memory"); }
    else { asm volatile("bar.sync 1, 128;" ::: "memory"); b[TID] = s[threadIdx.x - 64]; }
}
// @named_pair_wrong_count barrier
K named_pair_wrong_count(int *a, int *b, int n) {
    __shared__ int s[64];
    if (threadIdx.x < 64) { s[threadIdx.x] = a[TID]; asm volatile("bar.arrive 1, 128;" ::: "memory"); }
    else { asm volatile("bar.sync 1, 160;" ::: "memory"); b[TID] = s[threadIdx.x - 64]; }
}
// @named_pair_wrong_id barrier
K named_pair_wrong_id(int *a, int *b, int n) {
    __shared__ int s[64];
    if (threadIdx.x < 64) { s[threadIdx.x] = a[TID]; asm volatile("bar.arrive 1, 128;" ::: "memory"); }
    else { asm volatile("bar.sync 2, 128;" ::: "memory"); b[TID] = s[threadIdx.x - 64]; }
}
// @warp_lock_ok ok grid=1
K warp_lock_ok(int *a, int *b, int n) {
    bool done = false;
    while (!done) {
        if (atomicCAS(&b[1000], 0, 1) == 0) { __threadfence(); b[0] = b[0] + 1; __threadfence(); atomicExch(&b[1000], 0); done = true; }
    }
}
// @lock_not_released_in_branch barrier grid=1
K lock_not_released_in_branch(int *a, int *b, int n) {
    bool done = false;
    while (!done) {
        if (atomicCAS(&b[1000], 0, 1) == 0) { __threadfence(); b[0] = b[0] + 1; __threadfence(); if (a[TID] != 5) atomicExch(&b[1000], 0); done = true; }
    }
}
// @block_waits_for_later_block_ok ok
K block_waits_for_later_block_ok(int *a, int *b, int n) {
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) { while (atomicAdd(&b[1000], 0) != 3) {} __threadfence(); b[0] = b[1] + b[2] + b[3]; }
        else { b[blockIdx.x] = a[TID]; __threadfence(); atomicAdd(&b[1000], 1); }
    }
}
// @block_waits_for_too_many barrier
K block_waits_for_too_many(int *a, int *b, int n) {
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) { while (atomicAdd(&b[1000], 0) != 4) {} __threadfence(); b[0] = b[1] + b[2] + b[3]; }
        else { b[blockIdx.x] = a[TID]; __threadfence(); atomicAdd(&b[1000], 1); }
    }
}
// @double_checked race
K double_checked(int *a, int *b, int n) {
    if (threadIdx.x == 0) {
        if (b[1000] == 0) {
            while (atomicCAS(&b[1001], 0, 1)) {}
            __threadfence();
            if (((volatile int *)b)[1000] == 0) { b[1] = 7; __threadfence(); b[1000] = 1; }
            __threadfence();
            atomicExch(&b[1001], 0);
        }
        b[10 + blockIdx.x] = b[1];
    }
}
// @double_checked_ok ok
K double_checked_ok(int *a, int *b, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> made(b[1000]);
    if (threadIdx.x == 0) {
        if (!made.load(cuda::memory_order_acquire)) {
            while (atomicCAS(&b[1001], 0, 1)) {}
            __threadfence();
            if (!made.load(cuda::memory_order_relaxed)) { b[1] = 7; made.store(1, cuda::memory_order_release); }
            __threadfence();
            atomicExch(&b[1001], 0);
        }
        b[10 + blockIdx.x] = b[1];
    }
}
