// Labelled programs: stages and roles, warps, and what lies in memory.
//
// The line above each kernel is as in suites.cu.
// nvcc -arch=compute_90 -std=c++17 -O3 -ptx stages.cu -o stages.ptx && gzip -9n stages.ptx
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_pipeline.h>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
using dev_int = cuda::atomic_ref<int, cuda::thread_scope_device>;
// ---- stages and roles
// @stages_partitioned_ok ok block=64
// One warp fills, one empties; two stages, named barriers "full" and "empty" for each.
K stages_partitioned_ok(int *a, int *b, int n) {
    __shared__ int s[2][32];
    int w = threadIdx.x / 32, l = threadIdx.x % 32;
    if (w == 0) {
        for (int i = 0; i < 8; i++) {
            if (i >= 2) asm volatile("bar.sync %0, 64;" ::"r"(3 + i % 2) : "memory");
            s[i % 2][l] = a[i * 32 + l];
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + i % 2) : "memory");
        }
    } else {
        int sum = 0;
        for (int i = 0; i < 8; i++) {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + i % 2) : "memory");
            sum += s[i % 2][31 - l];
            if (i < 6) asm volatile("bar.arrive %0, 64;" ::"r"(3 + i % 2) : "memory");
        }
        b[blockIdx.x * 32 + l] = sum;
    }
}
// @stages_partitioned_never_emptied race block=64
// The producer does not wait until a stage was read.
K stages_partitioned_never_emptied(int *a, int *b, int n) {
    __shared__ int s[2][32];
    int w = threadIdx.x / 32, l = threadIdx.x % 32;
    if (w == 0) {
        for (int i = 0; i < 8; i++) {
            s[i % 2][l] = a[i * 32 + l];
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + i) : "memory");
        }
    } else {
        int sum = 0;
        for (int i = 0; i < 8; i++) {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + i) : "memory");
            sum += s[i % 2][31 - l];
        }
        b[blockIdx.x * 32 + l] = sum;
    }
}
// @stages_one_arrival_short barrier block=64
// The consumer arrives on "empty" one time fewer than the producer waits.
K stages_one_arrival_short(int *a, int *b, int n) {
    __shared__ int s[2][32];
    int w = threadIdx.x / 32, l = threadIdx.x % 32;
    if (w == 0) {
        for (int i = 0; i < 8; i++) {
            if (i >= 2) asm volatile("bar.sync %0, 64;" ::"r"(3 + i % 2) : "memory");
            s[i % 2][l] = a[i * 32 + l];
            asm volatile("bar.arrive %0, 64;" ::"r"(1 + i % 2) : "memory");
        }
    } else {
        int sum = 0;
        for (int i = 0; i < 8; i++) {
            asm volatile("bar.sync %0, 64;" ::"r"(1 + i % 2) : "memory");
            sum += s[i % 2][31 - l];
            if (i < 5) asm volatile("bar.arrive %0, 64;" ::"r"(3 + i % 2) : "memory");
        }
        b[blockIdx.x * 32 + l] = sum;
    }
}
// @barriers_of_stages_ok ok
// cuda::barrier for full and empty; one warp fills, three read.
K barriers_of_stages_ok(int *a, int *b, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> full[2], empty[2];
    __shared__ int s[2][32];
    int w = threadIdx.x / 32, l = threadIdx.x % 32;
    if (threadIdx.x < 2) init(&full[threadIdx.x], 128), init(&empty[threadIdx.x], 128);
    __syncthreads();
    if (w == 0) {
        for (int i = 0; i < 6; i++) {
            empty[i % 2].arrive_and_wait();
            s[i % 2][l] = a[i * 32 + l];
            (void)full[i % 2].arrive();
        }
    } else {
        int sum = 0;
        (void)empty[0].arrive();
        (void)empty[1].arrive();
        for (int i = 0; i < 6; i++) {
            full[i % 2].arrive_and_wait();
            sum += s[i % 2][(l + w) % 32];
            (void)empty[i % 2].arrive();
        }
        b[TID] = sum;
    }
}
// @barriers_of_stages_wrong_empty race,barrier
// A reader gives back the other stage.
K barriers_of_stages_wrong_empty(int *a, int *b, int n) {
    __shared__ cuda::barrier<cuda::thread_scope_block> full[2], empty[2];
    __shared__ int s[2][32];
    int w = threadIdx.x / 32, l = threadIdx.x % 32;
    if (threadIdx.x < 2) init(&full[threadIdx.x], 128), init(&empty[threadIdx.x], 128);
    __syncthreads();
    if (w == 0) {
        for (int i = 0; i < 6; i++) {
            empty[i % 2].arrive_and_wait();
            s[i % 2][l] = a[i * 32 + l];
            (void)full[i % 2].arrive();
        }
    } else {
        int sum = 0;
        (void)empty[0].arrive();
        (void)empty[1].arrive();
        for (int i = 0; i < 6; i++) {
            full[i % 2].arrive_and_wait();
            (void)empty[i % 2].arrive();
            sum += s[i % 2][(l + w) % 32];
        }
        b[TID] = sum;
    }
}
// @pipeline_three_stages_ok ok
K pipeline_three_stages_ok(int *a, int *b, int n) {
    __shared__ int s[3][128];
    auto pipe = cuda::make_pipeline();
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < 2; i++) {
        pipe.producer_acquire();
        cuda::memcpy_async(&s[i][t], &a[i * 128 + t], cuda::aligned_size_t<4>(4), pipe);
        pipe.producer_commit();
    }
    for (int i = 0; i < 6; i++) {
        if (i + 2 < 6) {
            pipe.producer_acquire();
            cuda::memcpy_async(&s[(i + 2) % 3][t], &a[(i + 2) * 128 + t], cuda::aligned_size_t<4>(4), pipe);
        } else pipe.producer_acquire();
        pipe.producer_commit();
        cuda::pipeline_consumer_wait_prior<2>(pipe);
        __syncthreads();
        sum += s[i % 3][127 - t];
        __syncthreads();
        pipe.consumer_release();
    }
    b[TID] = sum;
}
// @pipeline_two_stages_waits_for_one_less race only=async
K pipeline_two_stages_waits_for_one_less(int *a, int *b, int n) {
    __shared__ int s[2][128];
    int t = threadIdx.x, sum = 0;
    __pipeline_memcpy_async(&s[0][t], &a[t], 4);
    __pipeline_commit();
    for (int i = 0; i < 6; i++) {
        if (i + 1 < 6) __pipeline_memcpy_async(&s[(i + 1) % 2][t], &a[(i + 1) * 128 + t], 4);
        __pipeline_commit();
        __pipeline_wait_prior(i == 3 ? 2 : 1);
        __syncthreads();
        sum += s[i % 2][127 - t];
        __syncthreads();
    }
    b[TID] = sum;
}
// @double_buffer_one_sync_ok ok
// Two buffers and one barrier a round: what is written now was read before the last barrier.
K double_buffer_one_sync_ok(int *a, int *b, int n) {
    __shared__ int s[2][128];
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < 6; i++) {
        s[i % 2][t] = a[i * 128 + t];
        __syncthreads();
        sum += s[i % 2][127 - t];
    }
    b[TID] = sum;
}
// @single_buffer_one_sync race
K single_buffer_one_sync(int *a, int *b, int n) {
    __shared__ int s[1][128];
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < 6; i++) {
        s[0][t] = a[i * 128 + t];
        __syncthreads();
        sum += s[0][127 - t];
    }
    b[TID] = sum;
}
// @stencil_ping_pong_grid_ok ok coop=1
K stencil_ping_pong_grid_ok(int *a, int *b, int n) {
    auto g = cg::this_grid();
    int *from = b, *to = b + 512, t = TID;
    from[t] = a[t];
    g.sync();
    for (int r = 0; r < 5; r++) {
        to[t] = from[t] + (t > 0 ? from[t - 1] : 0) + (t < 511 ? from[t + 1] : 0);
        int *x = from; from = to; to = x;
        g.sync();
    }
}
// @stencil_ping_pong_block_sync race coop=1
K stencil_ping_pong_block_sync(int *a, int *b, int n) {
    auto g = cg::this_grid();
    int *from = b, *to = b + 512, t = TID;
    from[t] = a[t];
    g.sync();
    for (int r = 0; r < 5; r++) {
        to[t] = from[t] + (t > 0 ? from[t - 1] : 0) + (t < 511 ? from[t + 1] : 0);
        int *x = from; from = to; to = x;
        __syncthreads();
    }
}
// @stencil_ping_pong_without_swap race coop=1
K stencil_ping_pong_without_swap(int *a, int *b, int n) {
    auto g = cg::this_grid();
    int t = TID;
    b[t] = a[t];
    g.sync();
    for (int r = 0; r < 5; r++) {
        int x = b[t] + (t > 0 ? b[t - 1] : 0);
        b[t] = x;
        g.sync();
    }
}
// ---- warps
// @warp_queue_ok ok block=64
// Lanes that have work push it together: one atomic, a shuffle from the leader.
K warp_queue_ok(int *a, int *b, int n) {
    int v = a[TID];
    if (v % 3 == 1) {
        unsigned m = __activemask();
        int leader = __ffs(m) - 1, base = 0;
        if ((threadIdx.x & 31) == leader) base = atomicAdd(&b[0], __popc(m));
        base = __shfl_sync(m, base, leader);
        b[1 + base + __popc(m & ((1u << (threadIdx.x & 31)) - 1))] = v;
    }
}
// @warp_queue_base_of_leader_only race block=64
// The base is not passed on to the other lanes.
K warp_queue_base_of_leader_only(int *a, int *b, int n) {
    int v = a[TID];
    if (v % 3 == 1) {
        unsigned m = __activemask();
        int leader = __ffs(m) - 1, base = 0;
        if ((threadIdx.x & 31) == leader) base = atomicAdd(&b[0], __popc(m));
        b[1 + base + __popc(m & ((1u << (threadIdx.x & 31)) - 1))] = v;
    }
}
// @warp_transpose_ok ok block=64
K warp_transpose_ok(int *a, int *b, int n) {
    __shared__ int s[2][4][33];
    int w = threadIdx.x / 32, l = threadIdx.x % 32;
    for (int r = 0; r < 3; r++) {
        for (int k = 0; k < 4; k++) s[w][k][l] = a[(r * 4 + k) * 32 + l];
        __syncwarp();
        int x = s[w][l % 4][l / 4];
        __syncwarp();
        b[blockIdx.x * 192 + r * 64 + w * 32 + l] = x;
    }
}
// @warp_transpose_second_sync_missing race block=64
K warp_transpose_second_sync_missing(int *a, int *b, int n) {
    __shared__ int s[2][4][33];
    int w = threadIdx.x / 32, l = threadIdx.x % 32;
    for (int r = 0; r < 3; r++) {
        for (int k = 0; k < 4; k++) s[w][k][l] = a[(r * 4 + k) * 32 + l];
        __syncwarp();
        int x = s[w][l % 4][l / 4];
        b[blockIdx.x * 192 + r * 64 + w * 32 + l] = x;
    }
}
// @segmented_mask_ok ok block=64
// Halves of a warp go different ways, each with a mask of its own.
K segmented_mask_ok(int *a, int *b, int n) {
    int l = threadIdx.x % 32, x = a[TID];
    if (l < 16) for (int o = 8; o; o /= 2) x += __shfl_xor_sync(0xFFFF, x, o);
    else for (int o = 8; o; o /= 2) x = max(x, __shfl_xor_sync(0xFFFF0000, x, o));
    b[TID] = x;
}
// @segmented_mask_swapped barrier block=64
K segmented_mask_swapped(int *a, int *b, int n) {
    int l = threadIdx.x % 32, x = a[TID];
    if (l < 16) for (int o = 8; o; o /= 2) x += __shfl_xor_sync(0xFFFF0000, x, o);
    else for (int o = 8; o; o /= 2) x = max(x, __shfl_xor_sync(0xFFFF, x, o));
    b[TID] = x;
}
// @tile_of_4_scratch_ok ok
K tile_of_4_scratch_ok(int *a, int *b, int n) {
    __shared__ int s[128];
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    for (int r = 0; r < 3; r++) {
        s[threadIdx.x] = a[TID] + r;
        tile.sync();
        int x = s[threadIdx.x ^ 3];
        tile.sync();
        b[TID] = x;
    }
}
// @tile_of_4_reads_next_tile race
K tile_of_4_reads_next_tile(int *a, int *b, int n) {
    __shared__ int s[128];
    auto tile = cg::tiled_partition<4>(cg::this_thread_block());
    s[threadIdx.x] = a[TID];
    tile.sync();
    b[TID] = s[(threadIdx.x + 4) % 128];
}
// ---- memory
// @heap_list_ok ok grid=1 block=32
// A list of nodes from malloc, walked and freed by the thread that made it.
struct Node { int value; Node *next; };
K heap_list_ok(int *a, int *b, int n) {
    Node *head = nullptr;
    for (int i = 0; i < 4; i++) {
        Node *x = (Node *)malloc(sizeof(Node));
        if (!x) return;
        x->value = a[i], x->next = head, head = x;
    }
    int sum = 0;
    while (head) { Node *x = head; sum += x->value; head = x->next; free(x); }
    b[threadIdx.x] = sum;
}
// @heap_list_next_after_free memory grid=1 block=32
K heap_list_next_after_free(int *a, int *b, int n) {
    Node *head = nullptr;
    for (int i = 0; i < 4; i++) {
        Node *x = (Node *)malloc(sizeof(Node));
        if (!x) return;
        x->value = a[i], x->next = head, head = x;
    }
    int sum = 0;
    while (head) { sum += head->value; free(head); head = *(Node *volatile *)&head->next; }
    b[threadIdx.x] = sum;
}
// @heap_list_end_unset init,memory grid=1 block=32
// The last node's link is never set.
K heap_list_end_unset(int *a, int *b, int n) {
    Node *head = (Node *)malloc(sizeof(Node));
    if (!head) return;
    head->value = 1;
    int sum = 0;
    for (Node *x = head; x; x = *(Node *volatile *)&x->next) sum += x->value;
    b[threadIdx.x] = sum;
}
// @heap_array_of_flags_unset init grid=1 block=32
K heap_array_of_flags_unset(int *a, int *b, int n) {
    char *seen = (char *)malloc(64);
    if (!seen) return;
    for (int i = 0; i < 63; i++) seen[i] = 0;
    for (int i = 0; i < 64; i++) if (((volatile char *)seen)[i]) b[threadIdx.x] = i;
    free(seen);
}
// @misaligned_float4_of_dynamic memory shared=256 block=16
K misaligned_float4_of_dynamic(int *a, int *b, int n) {
    extern __shared__ char raw[];
    char *at = raw + (a[4]);
    *(volatile int *)(at) = 1;
    *(volatile long long *)(at + 8 * threadIdx.x) = 2;
    b[threadIdx.x] = raw[threadIdx.x];
}
// @dynamic_two_parts_ok ok shared=768
K dynamic_two_parts_ok(int *a, int *b, int n) {
    extern __shared__ int raw2[];
    int *x = raw2;
    short *y = (short *)(raw2 + 128);
    x[threadIdx.x] = a[TID];
    y[threadIdx.x] = threadIdx.x;
    __syncthreads();
    b[TID] = x[127 - threadIdx.x] + y[127 - threadIdx.x];
}
// @dynamic_two_parts_too_small memory shared=512
K dynamic_two_parts_too_small(int *a, int *b, int n) {
    extern __shared__ int raw2[];
    int *x = raw2;
    short *y = (short *)(raw2 + 128);
    x[threadIdx.x] = a[TID];
    y[threadIdx.x] = threadIdx.x;
    __syncthreads();
    b[TID] = x[127 - threadIdx.x] + y[127 - threadIdx.x];
}
__constant__ int table16[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
__constant__ int table_behind[16];
// @constant_index_negative memory
K constant_index_negative(int *a, int *b, int n) { b[TID] = table_behind[a[TID] % 16] + table16[a[TID] % 16 - 1]; }
// @constant_table_wrapped_ok ok
K constant_table_wrapped_ok(int *a, int *b, int n) { b[TID] = table16[(a[TID] - 1) & 15]; }
// @local_stack_index_ok ok
K local_stack_index_ok(int *a, int *b, int n) {
    int stack[8], top = 0, v = TID % 64 + 1, sum = 0;
    stack[top++] = v;
    while (top) {
        int x = stack[--top];
        sum += x;
        if (x > 1) stack[top++] = x / 2;
        if (x > 40) stack[top++] = x / 3;
    }
    b[TID] = sum;
}
// @local_stack_overflow memory
K local_stack_overflow(int *a, int *b, int n) {
    int stack[8], top = 0, sum = 0;
    for (int i = 0; i <= a[8]; i++) stack[top++] = a[i];
    while (top) sum += stack[--top] * top;
    b[TID] = sum;
}
// @local_partly_filled init
K local_partly_filled(int *a, int *b, int n) {
    int x[8];
    for (int i = 0; i < (a[TID] & 7); i++) x[i] = a[i];
    int sum = 0;
    for (int i = 0; i < 8; i++) if (x[(i + a[1]) & 7] > 3) sum++;
    b[TID] = sum;
}
// @matrix_edge_tile_ok ok grid=4 block=16,16
// A product of 30 x 30 in tiles of 16, whose edges are filled with zeros.
K matrix_edge_tile_ok(int *a, int *b, int n) {
    __shared__ int x[16][16], y[16][17];
    int N = 30, r = blockIdx.x / 2 * 16 + threadIdx.y, c = blockIdx.x % 2 * 16 + threadIdx.x, sum = 0;
    for (int k = 0; k < N; k += 16) {
        x[threadIdx.y][threadIdx.x] = r < N && k + threadIdx.x < N ? a[r * N + k + threadIdx.x] : 0;
        y[threadIdx.y][threadIdx.x] = k + threadIdx.y < N && c < N ? a[(k + threadIdx.y) * N + c] : 0;
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += x[threadIdx.y][i] * y[i][threadIdx.x];
        __syncthreads();
    }
    if (r < N && c < N) b[r * N + c] = sum;
}
// @matrix_edge_tile_left_over init grid=4 block=16,16
// The edges are left as they are.
K matrix_edge_tile_left_over(int *a, int *b, int n) {
    __shared__ int x[16][16], y[16][17];
    int N = 12, r = threadIdx.y, c = threadIdx.x, sum = 0;
    if (r < N && c < N) x[r][c] = a[r * N + c], y[r][c] = a[r * N + c];
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += x[r][i] * y[i][c];
    if (r < N && c < N && sum > 100) b[r * N + c] = sum;
}
// @matrix_edge_barrier_in_guard barrier grid=1 block=16,16
// Whole warps and halves of warps leave out the barrier that the others take part in twice.
K matrix_edge_barrier_in_guard(int *a, int *b, int n) {
    __shared__ int x[16][16];
    int r = threadIdx.y, c = threadIdx.x, sum = 0;
    x[r][c] = a[r * 16 + c];
    __syncthreads();
    if (c < 12) {
        for (int k = 0; k < 2; k++) {
            sum += x[c][r];
            __syncthreads();
        }
        b[r * 16 + c] = sum;
    }
}
// @volatile_ring_of_blocks_ok ok grid=4 block=32
// Each block waits for the one before it and wakes the next.
K volatile_ring_of_blocks_ok(int *a, int *b, int n) {
    volatile int *turn = b;
    if (threadIdx.x == 0) while (*turn != blockIdx.x) {}
    __syncthreads();
    __threadfence();
    b[1 + threadIdx.x] += a[threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *turn = blockIdx.x + 1;
}
// @volatile_ring_fence_behind race grid=4 block=32
// The fence comes before the stores that it should cover.
K volatile_ring_fence_behind(int *a, int *b, int n) {
    volatile int *turn = b;
    if (threadIdx.x == 0) while (*turn != blockIdx.x) {}
    __syncthreads();
    __threadfence();
    b[1 + threadIdx.x] += a[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) *turn = blockIdx.x + 1;
}
