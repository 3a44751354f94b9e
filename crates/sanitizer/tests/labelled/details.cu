// Labelled programs in pairs: atomics of all widths, orders and scopes, locks and hand-over between blocks, matrices in
// registers, stacks and calls, structures and heaps, votes, named barriers and asynchronous copies.
//
// The lines above each are as in suites.cu.
// nvcc -arch=compute_90 -std=c++17 -O3 -ptx details.cu -o details.ptx && gzip -9n details.ptx
#include <cub/agent/single_pass_scan_operators.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_store.cuh>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/optional>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <stdio.h>
namespace cg = cooperative_groups;
#define ARGS int *a, int *b, int n
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
#define T threadIdx.x
#define LANE (threadIdx.x % 32)
#define WARP (threadIdx.x / 32)
#define B(NAME, X, S) extern "C" __global__ void NAME##S(ARGS) { NAME<X>(a, b, n); }
#define TWIN(NAME) B(NAME, 0, _ok) B(NAME, 1, _bug)
#define TWIN3(NAME) TWIN(NAME) B(NAME, 2, _bug2)
#define D template <int X> __device__ __forceinline__ void
template <class V> using on_device = cuda::atomic_ref<V, cuda::thread_scope_device>;

// ---- atomics
// @at_wrap_counter_ok ok
// @at_wrap_counter_bug race
D at_wrap_counter(ARGS) {
    // Tickets go round by atomicInc; the slot is added to, or written plainly by whoever has it now.
    unsigned at = atomicInc((unsigned *)b, 63);
    if (X) b[1 + at] = TID; else atomicAdd(b + 1 + at, 1);
}
TWIN(at_wrap_counter)
// @at_or_bits_ok ok
// @at_or_bits_bug race
D at_or_bits(ARGS) {
    unsigned bit = 1u << LANE;
    unsigned *word = (unsigned *)b + (a[TID] * 7 % 64);
    if (X) *word |= bit; else atomicOr(word, bit);
}
TWIN(at_or_bits)
// @at_max64_ok ok
// @at_max64_bug race
D at_max64(ARGS) {
    auto best = (unsigned long long *)b;
    unsigned long long mine = (unsigned long long)(a[TID] * 31 % 997) << 32 | TID;
    if (X) { if (mine > *best) *best = mine; } else atomicMax(best, mine);
}
TWIN(at_max64)
// @at_cas16_ok ok
// @at_cas16_bug race
D at_cas16(ARGS) {
    auto half = (unsigned short *)b + TID % 8;
    unsigned short old = X ? *half : *(volatile unsigned short *)half, seen;
    if (X) { *half = old + 1; return; }
    do { seen = old; old = atomicCAS(half, seen, (unsigned short)(seen + 1)); } while (old != seen);
}
TWIN(at_cas16)
// @at_half2_ok ok
// @at_half2_bug race
D at_half2(ARGS) {
    auto sums = (__half2 *)b;
    __half2 one = __floats2half2_rn(1, 2);
    if (X) sums[TID % 16] = __hadd2(sums[TID % 16], one); else atomicAdd(sums + TID % 16, one);
}
TWIN(at_half2)
// @at_float4_ok ok
// @at_float4_bug race
D at_float4(ARGS) {
#if __CUDA_ARCH__ >= 900
    auto sums = (float4 *)b;
    if (X) sums[TID % 8].x += 1; else atomicAdd(sums + TID % 8, make_float4(1, 2, 3, 4));
#else
    if (X) b[TID % 8]++;
#endif
}
TWIN(at_float4)
// @at_scope_pair_ok ok
// @at_scope_pair_bug race
D at_scope_pair(ARGS) {
    // All blocks count at one place: a block's scope is too small.
    if (X) atomicAdd_block(b, 1); else atomicAdd_system(b, 1);
}
TWIN(at_scope_pair)
// @at_ref_double_ok ok
// @at_ref_double_bug race
D at_ref_double(ARGS) {
    auto sum = (double *)b;
    if (X) cuda::atomic_ref<double, cuda::thread_scope_block>(*sum).fetch_add(1.0, cuda::memory_order_relaxed);
    else on_device<double>(*sum).fetch_add(1.0, cuda::memory_order_relaxed);
}
TWIN(at_ref_double)
// @at_ref_short_flag_ok ok grid=2
// @at_ref_short_flag_bug race grid=2
D at_ref_short_flag(ARGS) {
    on_device<unsigned short> flag(((unsigned short *)b)[2000]);
    if (blockIdx.x == 0) {
        b[T] = a[T];
        __syncthreads();
        if (T == 0) flag.store(1, X ? cuda::memory_order_relaxed : cuda::memory_order_release);
        return;
    }
    if (T == 0) while (!flag.load(cuda::memory_order_acquire)) {}
    __syncthreads();
    b[128 + T] = b[T];
}
TWIN(at_ref_short_flag)
// @at_consume_by_xchg_ok ok grid=2
// @at_consume_by_xchg_bug race grid=2
D at_consume_by_xchg(ARGS) {
    // A box of one: filled when 1. The taker empties it by an exchange that acquires, or by a relaxed one.
    on_device<int> box(b[1000]);
    if (blockIdx.x == 0) {
        if (T) return;
        b[0] = a[5];
        box.store(1, cuda::memory_order_release);
    } else if (T == 0) {
        while (!box.exchange(0, X ? cuda::memory_order_relaxed : cuda::memory_order_acquire)) {}
        b[1] = b[0];
    }
}
TWIN(at_consume_by_xchg)
// @at_aba_stack_ok ok
// @at_aba_stack_bug race
D at_aba_stack(ARGS) {
    // Pops by compare-and-swap of the top alone: another may have pushed the same again. No race, whatever it does to the list.
    int *next = b + 256;
    if (TID >= 128) return;
    int top = on_device<int>(b[0]).load(cuda::memory_order_acquire);
    for (int i = 0; i < 4; i++) {
        if (X) next[TID] = top;
        else on_device<int>(next[TID]).store(top, cuda::memory_order_relaxed);
        if (on_device<int>(b[0]).compare_exchange_strong(top, TID + 1, cuda::memory_order_acq_rel)) break;
    }
    top = on_device<int>(b[0]).load(cuda::memory_order_acquire);
    for (int i = 0; i < 4 && top; i++) {
        int below = X ? next[top - 1] : on_device<int>(next[top - 1]).load(cuda::memory_order_relaxed);
        if (on_device<int>(b[0]).compare_exchange_strong(top, below, cuda::memory_order_relaxed)) break;
    }
}
TWIN(at_aba_stack)
// ---- locks and hand-over
// @lk_peterson_ok ok grid=2 block=1
// @lk_peterson_bug race grid=2 block=1
D lk_peterson(ARGS) {
    volatile int *want = b + 1, *turn = b + 3;
    int me = blockIdx.x, other = 1 - me;
    for (int i = 0; i < 3; i++) {
        want[me] = 1;
        __threadfence();
        *turn = other;
        __threadfence();
        while (want[other] && *turn == other) {}
        if (!X) __threadfence();
        b[0] = b[0] + 1;
        if (!X) __threadfence();
        want[me] = 0;
    }
}
TWIN(lk_peterson)
// @lk_bakery_of_warps_ok ok grid=1
// @lk_bakery_of_warps_bug race grid=1
D lk_bakery_of_warps(ARGS) {
    __shared__ volatile int choosing[4], number[4];
    __shared__ int count;
    if (T < 4) choosing[T] = number[T] = 0;
    if (T == 0) count = 0;
    __syncthreads();
    if (LANE) return;
    int me = WARP;
    choosing[me] = 1;
    __threadfence_block();
    int most = 0;
    for (int i = 0; i < 4; i++) most = max(most, number[i]);
    number[me] = most + 1;
    __threadfence_block();
    choosing[me] = 0;
    __threadfence_block();
    for (int i = 0; i < 4; i++) {
        while (choosing[i]) {}
        while (number[i] && (number[i] < number[me] || (number[i] == number[me] && i < me))) {}
    }
    if (!X) __threadfence_block();
    b[me] = count++;
    if (!X) __threadfence_block();
    number[me] = 0;
}
TWIN(lk_bakery_of_warps)
// @lk_once_ok ok
// @lk_once_bug race
D lk_once(ARGS) {
    // The first block makes the table; the rest wait until it is told to be there.
    on_device<int> state(b[0]);
    if (T == 0) {
        int none = 0;
        if (state.compare_exchange_strong(none, 1, cuda::memory_order_acquire)) {
            for (int i = 0; i < 16; i++) b[16 + i] = a[i] * a[i];
            state.store(2, cuda::memory_order_release);
        } else if (!X) {
            while (state.load(cuda::memory_order_acquire) != 2) __nanosleep(20);
        } else {
            while (state.load(cuda::memory_order_acquire) < 1) {}
        }
    }
    __syncthreads();
    b[100 + TID] = b[16 + T % 16];
}
TWIN(lk_once)
// @lk_writers_and_readers_ok ok
// @lk_writers_and_readers_bug race
D lk_writers_and_readers(ARGS) {
    // Readers count up, a writer takes it from zero to minus one. A reader leaves with a release, or just leaves.
    if (T) return;
    on_device<int> lock(b[0]);
    if (blockIdx.x == 0) {
        int none = 0;
        while (!lock.compare_exchange_weak(none, -1, cuda::memory_order_acquire)) none = 0;
        b[1] = a[1], b[2] = a[2];
        lock.store(0, X ? cuda::memory_order_relaxed : cuda::memory_order_release);
        return;
    }
    int seen = lock.load(cuda::memory_order_relaxed);
    do { while (seen < 0) seen = lock.load(cuda::memory_order_relaxed); }
    while (!lock.compare_exchange_weak(seen, seen + 1, cuda::memory_order_acquire));
    b[10 + blockIdx.x] = b[1] + b[2];
    lock.fetch_sub(1, cuda::memory_order_release);
}
TWIN(lk_writers_and_readers)
// @lk_chain_of_blocks_ok ok
// @lk_chain_of_blocks_bug race
D lk_chain_of_blocks(ARGS) {
    // Each block adds to what the one before it has left. The flag is volatile; the fences are for the value.
    volatile int *flags = b + 900;
    if (blockIdx.x) {
        if (T == 0) { while (!flags[blockIdx.x - 1]) {} __threadfence(); }
        __syncthreads();
        b[T] += a[TID];
    } else b[T] = a[TID];
    if (!X) __threadfence();
    __syncthreads();
    if (T == 0) flags[blockIdx.x] = 1;
}
TWIN(lk_chain_of_blocks)
// @lk_cached_flag_ok ok grid=2 block=32
// @lk_cached_flag_bug race,barrier grid=2 block=32
D lk_cached_flag(ARGS) {
    // __ldcg and __stcg choose a cache, and are no atomics.
    if (blockIdx.x == 0) {
        b[1 + T] = a[T];
        __threadfence();
        __syncwarp();
        if (T == 0) { if (X) __stcg(b, 1); else atomicExch(b, 1); }
        return;
    }
    if (T == 0) {
        if (X) { int i = 0; while (!__ldcg(b) && i < 1000) i++; }
        else while (!atomicAdd(b, 0)) {}
        __threadfence();
    }
    __syncwarp();
    b[100 + T] = b[1 + T];
}
TWIN(lk_cached_flag)
// @lk_fence_of_block_in_block_ok ok grid=1
// @lk_fence_of_block_in_block_bug race grid=2 block=64
D lk_fence_of_block_in_block(ARGS) {
    volatile int *flag = b + 1000;
    int first = X ? blockIdx.x == 0 : T < 64;
    if (first) {
        b[T % 64] = a[T];
        __threadfence_block();
        if (T % 64 == 63) atomicAdd((int *)flag, 64); else atomicAdd((int *)flag, 0);
    } else {
        while (*flag < 64) {}
        __threadfence_block();
        b[200 + T % 64] = b[63];
    }
}
TWIN(lk_fence_of_block_in_block)
// ---- matrices
// @mx_rows_unset_ok ok grid=1 block=32
// @mx_rows_unset_bug init grid=1 block=32
D mx_rows_unset(ARGS) {
    // Half of A's rows were never written: their rows of D are nothing, and the others are right.
    using namespace nvcuda;
    __shared__ alignas(32) __half x[256], y[256];
    __shared__ alignas(32) float z[256];
    for (int i = T; i < 256; i += 32) { if (i < 128) x[i] = __int2half_rn(a[i] % 7); y[i] = __int2half_rn(a[i] % 5); }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0);
    wmma::load_matrix_sync(fa, x, 16);
    wmma::load_matrix_sync(fb, y, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(z, fc, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = T; i < (X ? 256 : 128); i += 32) b[i] = int(z[i]);
}
TWIN(mx_rows_unset)
// @mx_accumulator_unset_ok ok grid=1 block=32
// @mx_accumulator_unset_bug init grid=1 block=32
D mx_accumulator_unset(ARGS) {
    using namespace nvcuda;
    __shared__ alignas(32) __half x[256];
    __shared__ alignas(32) float z[256];
    for (int i = T; i < 256; i += 32) { x[i] = __int2half_rn(a[i] % 7); if (!X) z[i] = 1; }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::load_matrix_sync(fa, x, 16);
    wmma::load_matrix_sync(fb, x, 16);
    wmma::load_matrix_sync(fc, z, 16, wmma::mem_row_major);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync((float *)b, fc, 16, wmma::mem_row_major);
}
TWIN(mx_accumulator_unset)
// @mx_ldmatrix_ok ok grid=1 block=32
// @mx_ldmatrix_bug init grid=1 block=32
// @mx_ldmatrix_bug2 race grid=1 block=32
D mx_ldmatrix(ARGS) {
    __shared__ alignas(16) unsigned tile[128];
    for (int i = T; i < (X == 1 ? 96 : 128); i += 32) tile[i] = a[i];
    if (X != 2) __syncwarp();
    unsigned r[4], at = (unsigned)__cvta_generic_to_shared(tile + 4 * T);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at) : "memory");
    for (int i = 0; i < 4; i++) b[32 * i + T] = r[i];
}
TWIN3(mx_ldmatrix)
// @mx_mma_tail_ok ok grid=1 block=32
// @mx_mma_tail_bug init grid=1 block=32
D mx_mma_tail(ARGS) {
    // K is 12 of 16: the tail of both operands is filled with zeros, or that of B is not.
    __shared__ __half x[16][16], y[8][16];
    for (int i = T; i < 256; i += 32) x[i / 16][i % 16] = __int2half_rn(i % 16 < 12 ? a[i] % 3 : 0);
    for (int i = T; i < 128; i += 32) if (!X || i % 16 < 12) y[i / 16][i % 16] = __int2half_rn(i % 16 < 12 ? a[i] % 4 : 0);
    __syncwarp();
    int row = LANE / 4, k = LANE % 4 * 2;
    auto two = [](__half *p) { return *(unsigned *)p; };
    unsigned ra[4] = {two(&x[row][k]), two(&x[row + 8][k]), two(&x[row][k + 8]), two(&x[row + 8][k + 8])};
    unsigned rb[2] = {two(&y[row][k]), two(&y[row][k + 8])};
    float d[4] = {};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    for (int i = 0; i < 4; i++) b[4 * T + i] = int(d[i]);
}
TWIN(mx_mma_tail)
// @mx_fragment_in_shared_ok ok grid=1 block=64
// @mx_fragment_in_shared_bug race grid=1 block=64
D mx_fragment_in_shared(ARGS) {
    // One warp stores its product, the other reads it.
    using namespace nvcuda;
    __shared__ alignas(32) __half x[256];
    __shared__ alignas(32) float z[256];
    for (int i = T; i < 256; i += 64) x[i] = __int2half_rn(a[i] % 7);
    __syncthreads();
    if (WARP == 0) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> fb;
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
        wmma::fill_fragment(fc, 0);
        wmma::load_matrix_sync(fa, x, 16);
        wmma::load_matrix_sync(fb, x, 16);
        wmma::mma_sync(fc, fa, fb, fc);
        wmma::store_matrix_sync(z, fc, 16, wmma::mem_row_major);
    }
    if (!X) __syncthreads(); else __syncwarp();
    for (int i = T; i < 256; i += 64) b[i] = int(z[255 - i]);
}
TWIN(mx_fragment_in_shared)
// ---- stacks and calls
// @st_memo_recursion_ok ok grid=1 block=64
// @st_memo_recursion_bug init grid=1 block=64
__device__ __noinline__ int fibonacci(int *memo, int k) {
    if (memo[k] >= 0) return memo[k];
    return memo[k] = fibonacci(memo, k - 1) + fibonacci(memo, k - 2);
}
D st_memo_recursion(ARGS) {
    int memo[16];
    memo[0] = 0, memo[1] = 1;
    if (!X) for (int i = 2; i < 16; i++) memo[i] = -1;
    b[T] = fibonacci(memo, 3 + T % 10);
}
TWIN(st_memo_recursion)
// @st_dispatch_ok ok
// @st_dispatch_bug race
using Step = void (*)(int *, int *, int);
__device__ __noinline__ void step_own(int *a, int *b, int i) { b[i] = a[i] + 1; }
__device__ __noinline__ void step_double(int *a, int *b, int i) { b[i] = a[i] * 2; }
__device__ __noinline__ void step_next(int *a, int *b, int i) { b[(i + 1) % 512] = a[i] - 1; }
D st_dispatch(ARGS) {
    __shared__ Step steps[2];
    if (T == 0) steps[0] = step_own, steps[1] = X ? step_next : step_double;
    __syncthreads();
    steps[a[TID] / 3 % 2](a, b, TID);
}
TWIN(st_dispatch)
// @st_table_unset_ok ok
// @st_table_unset_bug init,memory
D st_table_unset(ARGS) {
    __shared__ Step steps[2];
    if (T == 0) { steps[0] = step_own; if (!X) steps[1] = step_double; }
    __syncthreads();
    steps[T % 2](a, b, TID);
}
TWIN(st_table_unset)
// @st_out_pointer_ok ok
// @st_out_pointer_bug init
__device__ __noinline__ bool look_up(int *a, int key, int *found) {
    if (a[key] % 3 == 0) return false;
    *found = a[key];
    return true;
}
D st_out_pointer(ARGS) {
    int found;
    bool is = look_up(a, TID, &found);
    b[TID] = X || is ? found : -1;
}
TWIN(st_out_pointer)
// @st_local_over_ok ok
// @st_local_over_bug memory,init
D st_local_over(ARGS) {
    int last[8];
    for (int i = 0; i < 8; i++) last[i] = a[(TID + i) % 1024];
    int sum = 0;
    for (int i = 0; i < (X ? 9 : 8); i++) sum += last[(a[i] + i * 0) % (X ? 9 : 8)];
    b[TID] = sum + last[a[TID] % 8];
}
TWIN(st_local_over)
// @st_shuffle_in_two_calls_ok ok
// @st_shuffle_in_two_calls_bug init
__device__ __noinline__ int from_first(int x) { return __shfl_sync(~0u, x, 0); }
D st_shuffle_in_two_calls(ARGS) {
    // Lanes meet at a shuffle in calls from two places; only the first lane's value counts, and the others have none.
    __shared__ int unset[128];
    if (LANE == (X ? 1 : 0)) unset[T] = a[T];
    int x = unset[T];
    b[TID] = LANE % 2 ? from_first(x) + 1 : from_first(x);
}
TWIN(st_shuffle_in_two_calls)
// @st_printf_unset_ok ok grid=1 block=32
// @st_printf_unset_bug init grid=1 block=32
D st_printf_unset(ARGS) {
    __shared__ int s[32];
    if (T < 16 || !X) s[T] = a[T];
    __syncwarp();
    if (T == 31) printf("last %d\n", s[T]);
    b[T] = 0;
}
TWIN(st_printf_unset)
// ---- structures and heaps
// @hp_padding_hashed_ok ok
// @hp_padding_hashed_bug init
struct Entry { char tag; int value; };
D hp_padding_hashed(ARGS) {
    // A hash of the fields, or of all bytes of the structure, of which three were never written.
    __shared__ Entry entries[128];
    entries[T].tag = a[TID] % 5;
    entries[T].value = a[TID];
    unsigned hash = 17;
    if (X) { auto bytes = (unsigned char *)&entries[T]; for (int i = 0; i < (int)sizeof(Entry); i++) hash = hash * 31 + bytes[i]; }
    else hash = (hash * 31 + entries[T].tag) * 31 + entries[T].value;
    if (hash % 2) b[TID] = 1;
}
TWIN(hp_padding_hashed)
// @hp_copied_whole_ok ok
// @hp_copied_whole_bug init
struct Pair { short key; int value; };
D hp_copied_whole(ARGS) {
    // Structures move with their padding; then the fields count, or the word that the padding is in.
    __shared__ Pair from[128], to[128];
    from[T].key = T, from[T].value = a[TID];
    memcpy(&to[T], &from[T], sizeof(Pair));
    __syncthreads();
    Pair &other = to[127 - T];
    b[TID] = X ? *(int *)&other : other.key + other.value;
}
TWIN(hp_copied_whole)
// @hp_nodes_ok ok grid=1 block=32
// @hp_nodes_bug init grid=1 block=32
// @hp_nodes_bug2 memory grid=1 block=32
D hp_nodes(ARGS) {
    struct Node { Node *next; int value; };
    Node *head = nullptr;
    for (int i = 0; i < 3; i++) {
        auto node = (Node *)malloc(sizeof(Node));
        node->value = a[3 * T + i];
        if (X != 1 || i) node->next = head;
        head = node;
    }
    int sum = 0;
    for (Node *at = head; at;) {
        sum += at->value;
        Node *next = at->next;
        free(at);
        if (X == 2) sum += at->value;
        at = next;
    }
    b[T] = sum;
}
TWIN3(hp_nodes)
// @hp_block_buffer_ok ok
// @hp_block_buffer_bug race,memory
D hp_block_buffer(ARGS) {
    // One thread gets memory for the block, and frees it when all are done, or when it is.
    __shared__ int *buffer;
    if (T == 0) buffer = (int *)malloc(sizeof(int) * 128);
    __syncthreads();
    buffer[T] = a[TID];
    __syncthreads();
    b[TID] = buffer[127 - T];
    if (!X) __syncthreads();
    if (T == 0) free(buffer);
}
TWIN(hp_block_buffer)
// @hp_new_array_ok ok grid=1 block=32
// @hp_new_array_bug init grid=1 block=32
D hp_new_array(ARGS) {
    int *counts = X ? new int[4] : new int[4]();
    counts[a[T] % 4]++;
    b[T] = counts[0] + counts[3];
    delete[] counts;
}
TWIN(hp_new_array)
// @hp_pitched_ok ok
// @hp_pitched_bug memory
D hp_pitched(ARGS) {
    // Rows of 60 words, 64 apart; or 72 apart, where the last rows leave the buffer.
    int pitch = X ? 72 : 64;
    for (int i = TID; i < 16 * 60; i += 512) b[i / 60 * pitch + i % 60] = a[i / 60 * 64 + i % 60];
}
TWIN(hp_pitched)
// @hp_volume_ok ok grid=1 block=8,8
// @hp_volume_bug memory grid=1 block=8,8
D hp_volume(ARGS) {
    // Sixteen slices of 8 by 8; a point below each of them but the first, or of all.
    int x = threadIdx.x, y = threadIdx.y;
    for (int z = X ? 0 : 1; z < 16; z++) b[(z * 8 + y) * 8 + x] = a[(z * 8 + y) * 8 + x] - a[((z - 1) * 8 + y) * 8 + x];
}
TWIN(hp_volume)
// @hp_halo_corner_ok ok block=16,8
// @hp_halo_corner_bug init block=16,8
D hp_halo_corner(ARGS) {
    // The edges of the tile are filled; its corners, which only a stencil of nine points reads, are not.
    __shared__ int tile[10][18];
    int x = threadIdx.x, y = threadIdx.y;
    tile[y + 1][x + 1] = a[y * 16 + x];
    if (x == 0) tile[y + 1][0] = 0;
    if (x == 15) tile[y + 1][17] = 0;
    if (y == 0) tile[0][x + 1] = 0;
    if (y == 7) tile[9][x + 1] = 0;
    __syncthreads();
    int sum = tile[y][x + 1] + tile[y + 2][x + 1] + tile[y + 1][x] + tile[y + 1][x + 2];
    if (X) sum += tile[y][x] + tile[y + 2][x + 2];
    b[blockIdx.x * 128 + y * 16 + x] = sum;
}
TWIN(hp_halo_corner)
// ---- votes, shuffles, barriers
// @vt_all_done_ok ok
// @vt_all_done_bug race
D vt_all_done(ARGS) {
    // Rounds until all are done; the vote is also the barrier behind the reads, or only a warp's.
    __shared__ int s[128];
    s[T] = a[TID] % 8;
    __syncthreads();
    bool done = false;
    for (int round = 0; round < 16; round++) {
        int left = s[(T + 127) % 128];
        done = left == 0;
        if (X ? __all_sync(~0u, done) : __syncthreads_and(done)) break;
        if (left) s[T] = left - 1;
        if (X) __syncwarp(); else __syncthreads();
    }
    b[TID] = done;
}
TWIN(vt_all_done)
// @vt_count_offsets_ok ok
// @vt_count_offsets_bug race
D vt_count_offsets(ARGS) {
    __shared__ int base[4];
    unsigned votes = __ballot_sync(~0u, a[TID] % 3 == 0);
    if (LANE == 0) base[WARP] = __popc(votes);
    if (X) __ballot_sync(~0u, 1); else __syncthreads();
    int at = 0;
    for (int i = 0; i < WARP; i++) at += base[i];
    b[TID] = at + __popc(votes & ((1u << LANE) - 1));
}
TWIN(vt_count_offsets)
// @vt_half_warps_ok ok
// @vt_half_warps_bug barrier,race
D vt_half_warps(ARGS) {
    // Halves of a warp go their own ways, each synchronised by its mask; or both by the lower one's.
    __shared__ int s[128];
    s[T] = a[TID];
    if (LANE < 16) { __syncwarp(0xFFFF); b[TID] = s[T ^ 1]; }
    else { __syncwarp(X ? 0xFFFF : 0xFFFF0000); b[TID] = s[T ^ 2]; }
}
TWIN(vt_half_warps)
// @vt_absent_source_ok ok
// @vt_absent_source_bug init,barrier
D vt_absent_source(ARGS) {
    // The lower half shuffles down by 8: the upper four of it read lanes that take part, or lanes that do not.
    int x = a[TID];
    if (LANE < 16) {
        int y = __shfl_down_sync(0xFFFF, x, 8, X ? 32 : 16);
        b[TID] = y;
    }
}
TWIN(vt_absent_source)
// @vt_segments_ok ok
// @vt_segments_bug race
D vt_segments(ARGS) {
    // Lanes with the same key sum through shared memory, each group synchronised by its mask.
    __shared__ int sums[4][32];
    int key = a[TID] * 5 % 7;
    unsigned peers = __match_any_sync(~0u, key);
    int leader = __ffs(peers) - 1;
    if (LANE == leader) sums[WARP][key] = 0;
    if (!X) __syncwarp(peers);
    atomicAdd(&sums[WARP][key], a[TID]);
    __syncwarp(peers);
    b[TID] = sums[WARP][key];
}
TWIN(vt_segments)
// @vt_named_red_ok ok
// @vt_named_red_bug barrier
D vt_named_red(ARGS) {
    // Two warps count what holds among them at a barrier of their own; or ask for three.
    if (T >= 64) { b[TID] = 0; return; }
    int count, holds = a[TID] % 2, threads = X ? 96 : 64;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; barrier.sync 2, 64; barrier.red.popc.u32 %0, 1, %2, p; }"
                 : "=r"(count) : "r"(holds), "r"(threads) : "memory");
    b[TID] = count;
}
TWIN(vt_named_red)
// @vt_two_groups_ok ok
// @vt_two_groups_bug race
D vt_two_groups(ARGS) {
    // Two pairs of warps, a named barrier each; or one name for both, and a count that the wrong warps make up.
    __shared__ int s[128];
    int pair = T / 64;
    s[T] = a[TID];
    if (X) __syncwarp(); else asm volatile("bar.sync %0, 64;" :: "r"(1 + pair) : "memory");
    b[TID] = s[pair * 64 + 63 - T % 64];
}
TWIN(vt_two_groups)
// @vt_exit_before_ok ok
// @vt_exit_before_bug barrier
D vt_exit_before(ARGS) {
    // Threads beyond the end leave before the first barrier, or between two.
    __shared__ int s[128];
    if (!X && T >= 96) return;
    s[T] = a[TID];
    __syncthreads();
    if (X && T >= 96) return;
    int x = s[T < 95 ? T + 1 : 0];
    __syncthreads();
    s[T] = x;
    __syncthreads();
    b[TID] = s[T ? T - 1 : 0];
}
TWIN(vt_exit_before)
// @vt_coalesced_leader_ok ok
// @vt_coalesced_leader_bug race
D vt_coalesced_leader(ARGS) {
    // One lane of those that are here takes a place for all; or looks at the counter and then writes it.
    if (a[TID] % 3) return;
    auto here = cg::coalesced_threads();
    int at = 0;
    if (here.thread_rank() == 0) {
        if (X) { at = b[0]; b[0] = at + here.size(); } else at = atomicAdd(b, here.size());
    }
    at = here.shfl(at, 0) + here.thread_rank();
    if (!X) b[1 + at] = TID;
}
TWIN(vt_coalesced_leader)
// @vt_labeled_sums_ok ok
// @vt_labeled_sums_bug race
D vt_labeled_sums(ARGS) {
    __shared__ int sums[4][4];
    if (LANE < 4) sums[WARP][LANE] = 0;
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    if (!X) warp.sync();
    auto group = cg::labeled_partition(warp, (a[TID] + 1) % 4);
    int sum = cg::reduce(group, a[TID], cg::plus<int>());
    if (group.thread_rank() == 0) atomicAdd(&sums[WARP][(a[TID] + 1) % 4], sum);
    warp.sync();
    b[TID] = sums[WARP][LANE % 4];
}
TWIN(vt_labeled_sums)
// @vt_tile_scan_ok ok
// @vt_tile_scan_bug race
D vt_tile_scan(ARGS) {
    __shared__ int totals[16];
    auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    int x = cg::inclusive_scan(tile, a[TID] % 9);
    if (tile.thread_rank() == 7) totals[T / 8] = x;
    if (X) tile.sync(); else __syncthreads();
    int before = 0;
    for (int i = 0; i < int(T / 8); i++) before += totals[i];
    b[TID] = before + x;
}
TWIN(vt_tile_scan)
// ---- asynchronous
// @as_zfill_unset_ok ok grid=1 b=none
// @as_zfill_unset_bug init grid=1 b=none
D as_zfill_unset(ARGS) {
    // b holds nothing behind its first 126 words: their vector is filled up with zeros, or copied whole.
    __shared__ alignas(16) int s[128];
    if (T < 126) b[T] = a[T];
    __syncthreads();
    if (T < 32) {
        __pipeline_memcpy_async(s + 4 * T, b + 4 * T, 16, !X && T == 31 ? 8 : 0);
        __pipeline_commit();
        __pipeline_wait_prior(0);
    }
    __syncthreads();
    for (int i = T; i < 1024; i += 128) b[i] = s[i % 128];
}
TWIN(as_zfill_unset)
// @as_tile_copy_ok ok
// @as_tile_copy_bug race
D as_tile_copy(ARGS) {
    // Each warp copies and waits for its own part; and then reads its own, or its neighbour's.
    __shared__ alignas(16) int s[4][32];
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    cg::memcpy_async(warp, s[WARP], a + TID / 32 * 32, cuda::aligned_size_t<16>(128));
    cg::wait(warp);
    b[TID] = s[X ? WARP ^ 1 : WARP][31 - LANE];
}
TWIN(as_tile_copy)
// @as_small_copy_ok ok
// @as_small_copy_bug race only=async
D as_small_copy(ARGS) {
    // Less than a vector a thread: those that are left over copy the last one once more. Two sources for one place are a race.
    __shared__ alignas(16) int s[2][32];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, s[0], a + 32 * blockIdx.x, cuda::aligned_size_t<16>(128));
    cg::memcpy_async(block, s[X ? 0 : 1], a + 512 + 32 * blockIdx.x, cuda::aligned_size_t<16>(128));
    cg::wait(block);
    b[TID] = s[0][31 - LANE] + (X ? 0 : s[1][LANE]);
}
TWIN(as_small_copy)
// @as_barrier_drop_ok ok grid=1
// @as_barrier_drop_bug barrier grid=1
D as_barrier_drop(ARGS) {
    // Warps leave one after the other: they drop out of the barrier, or just go.
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    if (T == 0) init(&barrier, 128);
    __syncthreads();
    for (int round = 0; round < 4; round++) {
        b[T] += round;
        if (round == int(WARP)) { if (!X) barrier.arrive_and_drop(); return; }
        barrier.arrive_and_wait();
    }
}
TWIN(as_barrier_drop)
// @as_parity_ok ok grid=1
// @as_parity_bug race,barrier grid=1
D as_parity(ARGS) {
    // Consumers wait for the phase by its parity; or always for the first one.
    __shared__ cuda::barrier<cuda::thread_scope_block> full, empty;
    __shared__ int slot[32];
    if (T == 0) { init(&full, 32); init(&empty, 96); }
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        if (WARP == 0) {
            if (i) empty.wait_parity((i - 1) & 1);
            slot[LANE] = a[i * 32 + LANE];
            (void)full.arrive();
        } else {
            full.wait_parity(X ? 0 : i & 1);
            b[(i * 4 + WARP) * 32 + LANE] = slot[31 - LANE];
            (void)empty.arrive();
        }
    }
}
TWIN(as_parity)
// @as_pipeline_roles_ok ok grid=1
// @as_pipeline_roles_bug race grid=1
D as_pipeline_roles(ARGS) {
    // Two warps bring, two use; who uses gives a stage back when it was used, or as soon as it has come.
    constexpr auto scope = cuda::thread_scope_block;
    __shared__ cuda::pipeline_shared_state<scope, 2> state;
    __shared__ int s[2][64];
    auto block = cg::this_thread_block();
    auto role = T < 64 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    for (int i = 0; i < 6; i++) {
        if (T < 64) {
            pipe.producer_acquire();
            s[i % 2][T] = a[i * 64 + T];
            pipe.producer_commit();
        } else {
            pipe.consumer_wait();
            if (X) pipe.consumer_release();
            b[i * 64 + T - 64] = s[i % 2][127 - T];
            if (!X) pipe.consumer_release();
        }
    }
}
TWIN(as_pipeline_roles)
// @as_persistent_ok ok
// @as_persistent_bug race
D as_persistent(ARGS) {
    // Blocks stay and take items; the number goes through shared memory, with a barrier behind its reads or without.
    __shared__ int item;
    while (true) {
        if (T == 0) item = atomicAdd(b, 1);
        __syncthreads();
        int mine = item;
        if (!X) __syncthreads();
        if (mine >= 7) break;
        b[1 + mine * 128 + T] = a[mine * 128 + T] + 1;
    }
}
TWIN(as_persistent)
// @as_constant_table_ok ok
// @as_constant_table_bug memory
__constant__ int weights[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
D as_constant_table(ARGS) {
    int sum = 0;
    for (int i = 0; i < (X ? 10 : 9); i++) sum += weights[(i + a[TID] * 0) % 10] * a[(TID + i) % 1024];
    b[TID] = sum;
}
TWIN(as_constant_table)
// ---- what does not fit above
// @mo_optional_ok ok
struct Maybe { bool has; int value; };
__device__ __noinline__ Maybe find(int *a, int i) { Maybe m; m.has = a[i] % 3 == 0; if (m.has) m.value = a[i]; return m; }
D mo_optional(ARGS) {
    Maybe m = find(a, TID);
    b[TID] = m.has ? m.value : X ? m.value : -1;
}
B(mo_optional, 0, _ok)
// @mo_std_optional_ok ok
D mo_std_optional(ARGS) {
    cuda::std::optional<int> found;
    if (a[TID] % 3 == 0) found = a[TID];
    b[TID] = X ? *found : found.value_or(-1);
}
B(mo_std_optional, 0, _ok)
// @mo_array_ok ok
// @mo_array_bug init
D mo_array(ARGS) {
    cuda::std::array<int, 8> ring;
    for (int i = 0; i < (X ? 7 : 8); i++) ring[(a[TID] + i) % 8] = i;
    b[TID] = ring[(a[TID] + 7) % 8];
}
TWIN(mo_array)
// @mo_lookback_ok ok
// @mo_lookback_bug race
D mo_lookback(ARGS) {
    // Status and value in two words with fences; or the value behind the status.
    volatile int *status = b + 600, *sums = b + 700;
    __shared__ int before;
    using R = cub::BlockReduce<int, 128>;
    __shared__ typename R::TempStorage temp;
    int sum = R(temp).Sum(a[TID]);
    if (T == 0) {
        int total = 0;
        if (X) { status[blockIdx.x] = 1; __threadfence(); ((int *)sums)[blockIdx.x] = sum; }
        else { ((int *)sums)[blockIdx.x] = sum; __threadfence(); status[blockIdx.x] = 1; }
        for (int i = 0; i < int(blockIdx.x); i++) { while (!status[i]) {} __threadfence(); total += ((int *)sums)[i]; }
        before = total;
    }
    __syncthreads();
    b[TID] = before + a[TID];
}
TWIN(mo_lookback)
// @mo_latch_ok ok grid=1
// @mo_latch_bug race grid=1
D mo_latch(ARGS) {
    __shared__ cuda::latch<cuda::thread_scope_block> *latch;
    __shared__ alignas(16) char room[64];
    __shared__ int s[128];
    if (T == 0) latch = new (room) cuda::latch<cuda::thread_scope_block>(128);
    __syncthreads();
    s[T] = a[T];
    if (X) { latch->count_down(); } else latch->arrive_and_wait();
    b[T] = s[127 - T];
}
TWIN(mo_latch)
// @mo_semaphore_ok ok
// @mo_semaphore_bug race
__device__ cuda::binary_semaphore<cuda::thread_scope_device> gates[2] = {cuda::binary_semaphore<cuda::thread_scope_device>(1), cuda::binary_semaphore<cuda::thread_scope_device>(1)};
D mo_semaphore(ARGS) {
    if (T) return;
    gates[X].acquire();
    if (!X) b[0] += a[blockIdx.x];
    gates[X].release();
    if (X) b[0] += a[blockIdx.x];
}
TWIN(mo_semaphore)
// @mo_grid_stride_reduce_ok ok coop=1
// @mo_grid_stride_reduce_bug race coop=1
D mo_grid_stride_reduce(ARGS) {
    auto grid = cg::this_grid();
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    int sum = 0;
    for (int i = grid.thread_rank(); i < n; i += grid.size()) sum += a[i];
    sum = cg::reduce(warp, sum, cg::plus<int>());
    if (warp.thread_rank() == 0) atomicAdd(b, sum);
    if (X) block.sync(); else grid.sync();
    if (grid.thread_rank() < 100) b[1 + grid.thread_rank()] = b[0];
}
TWIN(mo_grid_stride_reduce)
// @mo_jacobi_ok ok coop=1
// @mo_jacobi_bug race coop=1
D mo_jacobi(ARGS) {
    auto grid = cg::this_grid();
    int *from = b, *to = b + 512, i = TID;
    from[i] = a[i]; 
    grid.sync();
    for (int step = 0; step < 4; step++) {
        to[i] = (from[i ? i - 1 : 0] + from[i < 511 ? i + 1 : 511]) / 2;
        if (!X || step % 2) grid.sync();
        int *t = from; from = to; to = t;
    }
}
TWIN(mo_jacobi)
// @mo_vector_type_pun_ok ok
// @mo_vector_type_pun_bug race
D mo_vector_type_pun(ARGS) {
    __shared__ alignas(16) int s[128];
    s[T] = a[TID];
    if (X) __syncwarp(); else __syncthreads();
    if (T < 32) { int4 v = ((int4 *)s)[T]; b[TID] = v.x + v.y + v.z + v.w; }
}
TWIN(mo_vector_type_pun)
// @mo_byte_flags_ok ok grid=1
// @mo_byte_flags_bug race grid=1
D mo_byte_flags(ARGS) {
    // Flags of a byte for each warp, set by its lane 0 and read by all behind the barrier.
    __shared__ bool any[4];
    bool mine = __any_sync(~0u, a[TID] == 77);
    if (LANE == 0) any[WARP] = mine;
    if (!X) __syncthreads();
    bool all = false;
    for (int i = 0; i < 4; i++) all |= any[i];
    b[TID] = all;
}
TWIN(mo_byte_flags)
// @mo_reinit_barrier_ok ok grid=1
// @mo_reinit_barrier_bug race,barrier grid=1
D mo_reinit_barrier(ARGS) {
    __shared__ alignas(8) cuda::barrier<cuda::thread_scope_block> bar;
    for (int i = 0; i < 2; i++) {
        if (T == 0) init(&bar, 128);
        __syncthreads();
        b[T] += i;
        bar.arrive_and_wait();
        if (!X) __syncthreads();
        if (T == 0) bar.~barrier();
    }
}
TWIN(mo_reinit_barrier)
// @mo_warp_load_ok ok
// @mo_warp_load_bug race
D mo_warp_load(ARGS) {
    using L = cub::WarpLoad<int, 2, cub::WARP_LOAD_TRANSPOSE>;
    using S = cub::WarpStore<int, 2, cub::WARP_STORE_TRANSPOSE>;
    __shared__ union { typename L::TempStorage l; typename S::TempStorage s; } temp[4];
    int x[2];
    L(temp[WARP].l).Load(a + TID / 32 * 64, x);
    __syncwarp();
    S(temp[X ? WARP / 2 : WARP].s).Store(b + TID / 32 * 64, x);
}
TWIN(mo_warp_load)
// @mo_tile_state_ok ok
// @mo_tile_state_bug race,init,barrier
D mo_tile_state(ARGS) {
    // CUB's look-back over blocks. The states are made by block 0, which the others wait for; or by nobody.
    using State = cub::ScanTileState<int>;
    using Prefix = cub::TilePrefixCallbackOp<int, cuda::std::plus<>, State>;
    using S = cub::BlockScan<int, 128>;
    __shared__ typename S::TempStorage scan;
    __shared__ typename Prefix::TempStorage prefix;
    State state;
    state.Init(4, b + 700, 300 * 4);
    if (blockIdx.x == 0) { state.InitializeStatus(4); __syncthreads(); __threadfence(); if (T == 0) atomicExch(b + 699, 1); }
    else if (!X) { if (T == 0) { while (!atomicAdd(b + 699, 0)) {} __threadfence(); } }
    __syncthreads();
    int x = a[TID] % 11, total;
    if (blockIdx.x == 0) {
        S(scan).ExclusiveScan(x, x, 0, cuda::std::plus<>{}, total);
        if (T == 0) state.SetInclusive(0, total);
    } else {
        Prefix op(state, prefix, cuda::std::plus<>{}, blockIdx.x);
        S(scan).ExclusiveScan(x, x, cuda::std::plus<>{}, op);
    }
    b[TID] = x;
}
TWIN(mo_tile_state)
// @mo_complex_reduce_ok ok
// @mo_complex_reduce_bug race
D mo_complex_reduce(ARGS) {
    using C = cuda::std::complex<float>;
    __shared__ alignas(8) char room[128 * sizeof(C)];
    C *s = (C *)room;
    s[T] = C(a[TID], 1);
    __syncthreads();
    for (int h = 64; h; h /= 2) {
        if (T < h) s[T] += s[T + h];
        if (!X || h > 32) __syncthreads();
    }
    if (T == 0) b[blockIdx.x] = int(s[0].real());
}
TWIN(mo_complex_reduce)
// @mo_switch_lanes_ok ok
// @mo_switch_lanes_bug init
D mo_switch_lanes(ARGS) {
    int x;
    switch (a[TID] % 4) {
    case 0: x = 1; break;
    case 1: x = 2; break;
    case 2: x = 3; break;
    case 3: if (!X) x = 4; break;
    }
    __shared__ int s[128];
    if (X && a[TID] % 4 == 3) {} else s[T] = x;
    b[TID] = s[T];
}
TWIN(mo_switch_lanes)
// @mo_bool_array_ok ok
// @mo_bool_array_bug init
D mo_bool_array(ARGS) {
    bool seen[40];
    for (int i = 0; i < (X ? 39 : 40); i++) seen[i] = false;
    int at = a[TID] % 40;
    for (int i = 0; i < 10 && !seen[at]; i++) { seen[at] = true; at = (at * 3 + 1) % 40; }
    int count = 0;
    for (bool is : seen) count += is;
    b[TID] = count;
}
TWIN(mo_bool_array)
// @mo_stack_walk_ok ok grid=1 block=32
// @mo_stack_walk_bug init,memory grid=1 block=32
D mo_stack_walk(ARGS) {
    // A tree walked with a stack of its own; pops one more than was pushed, or not.
    int stack[16], top = 0, sum = 0;
    stack[top++] = T + 1;
    while (X ? top >= 0 : top > 0) {
        int node = stack[--top];
        if (X && top < 0) break;
        if (node >= 64) continue;
        sum += a[node];
        stack[top++] = 2 * node;
        stack[top++] = 2 * node + 1;
    }
    b[T] = sum;
}
TWIN(mo_stack_walk)
// @mo_warp_queue_drain_ok ok grid=1 block=64
// @mo_warp_queue_drain_bug race grid=1 block=64
D mo_warp_queue_drain(ARGS) {
    __shared__ int queue[128], head, tail;
    if (T == 0) head = tail = 0;
    __syncthreads();
    if (a[T] % 2) queue[atomicAdd(&tail, 1)] = a[T];
    if (!X) __syncthreads();
    int end = X ? *(volatile int *)&tail : tail;
    for (int i; (i = atomicAdd(&head, 1)) < end;) b[i] = queue[i];
}
TWIN(mo_warp_queue_drain)
// @mo_ldg_own_write_ok ok
// @mo_ldg_own_write_bug race
D mo_ldg_own_write(ARGS) {
    b[TID] = __ldg(a + TID) + 1;
    if (X) b[TID] += __ldg(b + (TID + 1) % 512);
}
TWIN(mo_ldg_own_write)
// @mo_dyn_struct_ok ok shared=2048
// @mo_dyn_struct_bug race shared=2048
D mo_dyn_struct(ARGS) {
    extern __shared__ char raw[];
    struct Item { double w; int v; };
    auto items = (Item *)raw;
    items[T].v = a[TID], items[T].w = .5;
    __syncthreads();
    Item other = items[127 - T];
    if (!X) __syncthreads();
    items[T] = other;
    __syncthreads();
    b[TID] = items[T].v;
}
TWIN(mo_dyn_struct)
// @mo_reduce_max_idx_ok ok
// @mo_reduce_max_idx_bug race
D mo_reduce_max_idx(ARGS) {
    __shared__ int best[4], at[4];
    int x = a[TID] * 37 % 501, i = TID;
    for (int o = 16; o; o /= 2) {
        int y = __shfl_down_sync(~0u, x, o), j = __shfl_down_sync(~0u, i, o);
        if (y > x) x = y, i = j;
    }
    if (LANE == 0) best[WARP] = x, at[WARP] = i;
    __syncthreads();
    if (T == 0) for (int w = 1; w < 4; w++) if (best[w] > best[0]) best[0] = best[w], at[0] = at[w];
    if (!X) __syncthreads();
    b[TID] = at[0];
}
TWIN(mo_reduce_max_idx)
