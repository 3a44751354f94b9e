// Labelled programs in pairs: collectives of CUB over a block or a warp, whose scratch memory is used again too early, by too
// many, or before anything was put there.
//
// The lines above each are as in suites.cu.
// nvcc -arch=compute_90 -std=c++17 -O3 -ptx collectives.cu -o collectives.ptx && gzip -9n collectives.ptx
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#define ARGS int *a, int *b, int n
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
#define T threadIdx.x
#define B(NAME, X, S) extern "C" __global__ void NAME##S(ARGS) { NAME<X>(a, b, n); }
#define TWIN(NAME) B(NAME, 0, _ok) B(NAME, 1, _bug)
#define TWIN3(NAME) TWIN(NAME) B(NAME, 2, _bug2)
#define D template <int X> __device__ __forceinline__ void

// @cub_reduce_twice_ok ok
// @cub_reduce_twice_bug race
D cub_reduce_twice(ARGS) {
    using R = cub::BlockReduce<int, 128>;
    __shared__ typename R::TempStorage temp;
    int sum = R(temp).Sum(a[TID]);
    if (!X) __syncthreads();
    int most = R(temp).Reduce(a[TID] * 3 % 128, cuda::maximum<>{});
    if (T == 0) { b[2 * blockIdx.x] = sum; b[2 * blockIdx.x + 1] = most; }
}
TWIN(cub_reduce_twice)
// @cub_reduce_commutative_ok ok
// @cub_reduce_commutative_bug race
D cub_reduce_commutative(ARGS) {
    using R = cub::BlockReduce<float, 128, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>;
    __shared__ typename R::TempStorage temp;
    for (int i = 0; i < 3; i++) {
        float sum = R(temp).Sum(a[(TID + i) % 1024] * .5f);
        if (T == 0) b[3 * blockIdx.x + i] = int(sum);
        if (!X) __syncthreads();
    }
}
TWIN(cub_reduce_commutative)
// @cub_scan_tiles_ok ok grid=1
// @cub_scan_tiles_bug race grid=1
D cub_scan_tiles(ARGS) {
    using S = cub::BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ typename S::TempStorage temp;
    int before = 0;
    for (int at = 0; at < n; at += 128) {
        int x = a[at + T], total;
        S(temp).ExclusiveSum(x, x, total);
        b[at + T] = before + x;
        before += total;
        if (!X) __syncthreads();
    }
}
TWIN(cub_scan_tiles)
// @cub_scan_raking_ok ok
// @cub_scan_raking_bug race
D cub_scan_raking(ARGS) {
    using S = cub::BlockScan<int, 128, cub::BLOCK_SCAN_RAKING_MEMOIZE>;
    __shared__ union { typename S::TempStorage temp; int tile[128]; } s;
    int x = a[TID], total;
    S(s.temp).InclusiveSum(x, x, total);
    if (!X) __syncthreads();
    s.tile[T] = x;
    __syncthreads();
    b[TID] = total - s.tile[127 - T];
}
TWIN(cub_scan_raking)
// @cub_load_sort_store_ok ok grid=1 block=64
// @cub_load_sort_store_bug race grid=1 block=64
D cub_load_sort_store(ARGS) {
    using L = cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_TRANSPOSE>;
    using R = cub::BlockRadixSort<int, 64, 4>;
    using W = cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ union { typename L::TempStorage load; typename R::TempStorage sort; typename W::TempStorage store; } s;
    int keys[4];
    L(s.load).Load(a, keys);
    if (!X) __syncthreads();
    for (int &key : keys) key = key * 37 % 256;
    R(s.sort).Sort(keys, 0, 8);
    __syncthreads();
    W(s.store).Store(b, keys);
}
TWIN(cub_load_sort_store)
// @cub_sort_pairs_ok ok grid=1
// @cub_sort_pairs_bug race grid=1
D cub_sort_pairs(ARGS) {
    using R = cub::BlockRadixSort<unsigned, 128, 2, int>;
    __shared__ typename R::TempStorage temp;
    unsigned keys[2] = {unsigned(a[T]) * 29 % 64, unsigned(a[T + 128]) * 13 % 64};
    int values[2] = {int(T), int(T + 128)};
    R(temp).Sort(keys, values, 0, 6);
    b[2 * T] = keys[0], b[2 * T + 1] = values[1];
    if (!X) __syncthreads();
    R(temp).SortDescending(keys, values, 0, 6);
    b[512 + 2 * T] = keys[0], b[513 + 2 * T] = values[1];
}
TWIN(cub_sort_pairs)
// @cub_exchange_ok ok grid=1
// @cub_exchange_bug race grid=1
D cub_exchange(ARGS) {
    using E = cub::BlockExchange<int, 128, 4>;
    __shared__ typename E::TempStorage temp;
    int x[4];
    for (int i = 0; i < 4; i++) x[i] = a[4 * T + i];
    E(temp).BlockedToStriped(x, x);
    for (int &y : x) y++;
    if (!X) __syncthreads();
    E(temp).BlockedToStriped(x, x);
    for (int i = 0; i < 4; i++) b[4 * T + i] = x[i];
}
TWIN(cub_exchange)
// @cub_scatter_ok ok grid=1
// @cub_scatter_bug init grid=1
D cub_scatter(ARGS) {
    // Each rank once; or the odd ones never, whose places nobody wrote.
    using E = cub::BlockExchange<int, 128, 2>;
    __shared__ typename E::TempStorage temp;
    int x[2] = {a[T], a[T + 128]};
    int ranks[2] = {int(T) * 2, X ? int(T) * 2 : int(T) * 2 + 1};
    if (X) x[1] = x[0];
    E(temp).ScatterToStriped(x, x, ranks);
    b[T] = x[0], b[T + 128] = x[1];
}
TWIN(cub_scatter)
// @cub_histogram_ok ok grid=1
// @cub_histogram_bug init grid=1
// @cub_histogram_bug2 race grid=1
D cub_histogram(ARGS) {
    using H = cub::BlockHistogram<unsigned char, 128, 4, 64, cub::BLOCK_HISTO_ATOMIC>;
    __shared__ typename H::TempStorage temp;
    __shared__ int bins[64];
    unsigned char x[4];
    for (int i = 0; i < 4; i++) x[i] = a[4 * T + i] * 7 % 64;
    if (X != 1) H(temp).InitHistogram(bins);
    if (X != 2) __syncthreads();
    H(temp).Composite(x, bins);
    __syncthreads();
    if (T < 64) b[T] = bins[T];
}
TWIN3(cub_histogram)
// @cub_histogram_sort_ok ok grid=1
// @cub_histogram_sort_bug race grid=1
D cub_histogram_sort(ARGS) {
    using H = cub::BlockHistogram<unsigned char, 128, 2, 32, cub::BLOCK_HISTO_SORT>;
    __shared__ typename H::TempStorage temp;
    __shared__ int bins[32];
    unsigned char x[2] = {(unsigned char)(a[T] * 7 % 32), (unsigned char)(a[T + 128] * 3 % 32)};
    H(temp).Histogram(x, bins);
    if (!X) __syncthreads();
    if (T < 32) b[T] = bins[31 - T];
}
TWIN(cub_histogram_sort)
// @cub_discontinuity_ok ok
// @cub_discontinuity_bug race
D cub_discontinuity(ARGS) {
    using F = cub::BlockDiscontinuity<int, 128>;
    __shared__ typename F::TempStorage temp;
    int x[2] = {a[TID] / 3, a[TID] / 2}, heads[2], tails[2];
    F(temp).FlagHeads(heads, x, cuda::std::not_equal_to<>{});
    if (!X) __syncthreads();
    F(temp).FlagHeads(tails, x, cuda::std::not_equal_to<>{});
    b[TID] = heads[0] + heads[1] * 2 + tails[0] * 4 + tails[1] * 8;
}
TWIN(cub_discontinuity)
// @cub_difference_ok ok
// @cub_difference_bug race
D cub_difference(ARGS) {
    using A = cub::BlockAdjacentDifference<int, 128>;
    __shared__ typename A::TempStorage temp;
    int x[1] = {a[TID] * 5}, left[1], right[1];
    A(temp).SubtractLeft(x, left, cuda::std::minus<>{});
    if (!X) __syncthreads();
    A(temp).SubtractLeft(left, right, cuda::std::minus<>{});
    b[TID] = left[0] * right[0];
}
TWIN(cub_difference)
// @cub_shuffle_ok ok
// @cub_shuffle_bug race
D cub_shuffle(ARGS) {
    using S = cub::BlockShuffle<int, 128>;
    __shared__ typename S::TempStorage temp;
    int x = a[TID], turned = 0, up[1], down[1] = {x};
    S(temp).Rotate(x, turned, 3);
    if (!X) __syncthreads();
    S(temp).Up(down, up);
    b[TID] = turned + (T ? up[0] : 0);
}
TWIN(cub_shuffle)
// @cub_merge_sort_ok ok grid=1
// @cub_merge_sort_bug race grid=1
struct Less { __device__ bool operator()(int x, int y) const { return x < y; } };
D cub_merge_sort(ARGS) {
    using M = cub::BlockMergeSort<int, 128, 2>;
    __shared__ typename M::TempStorage temp;
    __shared__ int sorted[256];
    int x[2] = {a[T] * 91 % 256, a[T + 128] * 57 % 256};
    M(temp).Sort(x, Less{});
    sorted[2 * T] = x[0], sorted[2 * T + 1] = x[1];
    if (!X) __syncthreads();
    b[T] = sorted[255 - T];
}
TWIN(cub_merge_sort)
// @cub_run_length_ok ok grid=1
// @cub_run_length_bug race grid=1
D cub_run_length(ARGS) {
    using R = cub::BlockRunLengthDecode<int, 128, 1, 2>;
    __shared__ typename R::TempStorage temp;
    int values[1] = {a[T]}, lengths[1] = {int(T % 4)}, total;
    R decode(temp, values, lengths, total);
    for (int at = 0; at < total; at += 256) {
        int items[2];
        decode.RunLengthDecode(items, at);
        for (int i = 0; i < 2; i++) if (at + 2 * T + i < total) b[at + 2 * T + i] = items[i];
    }
    if (!X) __syncthreads();
    R again(temp, values, lengths, total);
    int items[2];
    again.RunLengthDecode(items, 0);
    if (2 * T < total) b[512 + T] = items[0];
}
TWIN(cub_run_length)
// @cub_in_branch_ok ok
// @cub_in_branch_bug init
D cub_in_branch(ARGS) {
    using R = cub::BlockReduce<int, 128>;
    __shared__ typename R::TempStorage temp;
    int x = a[TID];
    if (X && T >= 64) return;
    int sum = R(temp).Sum(T < 64 ? x : 0);
    if (T == 0) b[blockIdx.x] = sum;
}
TWIN(cub_in_branch)
// @cub_union_with_tile_ok ok
// @cub_union_with_tile_bug race
D cub_union_with_tile(ARGS) {
    using R = cub::BlockReduce<int, 128>;
    __shared__ union { typename R::TempStorage temp; int tile[128]; } s;
    s.tile[T] = a[TID];
    __syncthreads();
    int x = s.tile[(T + 33) % 128];
    if (!X) __syncthreads();
    int sum = R(s.temp).Sum(x);
    if (T == 0) b[blockIdx.x] = sum;
}
TWIN(cub_union_with_tile)
// @cub_last_block_ok ok
// @cub_last_block_bug race
__device__ unsigned done_0, done_1;
D cub_last_block(ARGS) {
    using R = cub::BlockReduce<int, 128>;
    __shared__ typename R::TempStorage temp;
    __shared__ bool last;
    int sum = R(temp).Sum(a[TID]);
    if (T == 0) {
        b[1 + blockIdx.x] = sum;
        if (!X) __threadfence();
        last = atomicAdd(X ? &done_1 : &done_0, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    int total = R(temp).Sum(T < gridDim.x ? b[1 + T] : 0);
    if (T == 0) b[0] = total;
}
TWIN(cub_last_block)
// @cub_warp_reduce_ok ok block=96
// @cub_warp_reduce_bug race block=96
D cub_warp_reduce(ARGS) {
    // Of 24 lanes: it goes through shared memory, each warp's own.
    using R = cub::WarpReduce<int, 24>;
    __shared__ typename R::TempStorage temp[3];
    if (T % 32 >= 24) return;
    int sum = R(temp[X ? 0 : T / 32]).Sum(a[TID]);
    if (T % 32 == 0) b[blockIdx.x * 3 + T / 32] = sum;
}
TWIN(cub_warp_reduce)
// @cub_warp_scan_ok ok
// @cub_warp_scan_bug race
D cub_warp_scan(ARGS) {
    using S = cub::WarpScan<int, 32>;
    __shared__ typename S::TempStorage temp[4];
    __shared__ int totals[4];
    int x, total;
    S(temp[T / 32]).InclusiveSum(a[TID], x, total);
    if (T % 32 == 31) totals[T / 32] = total;
    if (!X) __syncthreads();
    for (int i = 0; i < int(T / 32); i++) x += totals[i];
    b[TID] = x;
}
TWIN(cub_warp_scan)
// @cub_warp_exchange_ok ok
// @cub_warp_exchange_bug race
D cub_warp_exchange(ARGS) {
    using E = cub::WarpExchange<int, 2, 32>;
    __shared__ typename E::TempStorage temp[4];
    int x[2] = {a[TID], a[TID + 512]};
    E(temp[T / 32]).BlockedToStriped(x, x);
    x[0] += x[1];
    if (!X) __syncwarp();
    E(temp[T / 32]).BlockedToStriped(x, x);
    b[2 * TID] = x[0], b[2 * TID + 1] = x[1];
}
TWIN(cub_warp_exchange)
// @cub_warp_merge_sort_ok ok
// @cub_warp_merge_sort_bug race
D cub_warp_merge_sort(ARGS) {
    using M = cub::WarpMergeSort<int, 2, 16>;
    __shared__ typename M::TempStorage temp[8];
    int x[2] = {a[TID] * 77 % 512, a[TID + 512] * 31 % 512};
    M(temp[X ? T / 32 : T / 16]).Sort(x, Less{});
    b[2 * TID] = x[0], b[2 * TID + 1] = x[1];
}
TWIN(cub_warp_merge_sort)
// @cub_partial_tile_ok ok grid=1
// @cub_partial_tile_bug init grid=1
D cub_partial_tile(ARGS) {
    // The tail of the tile is filled with zeros, or with nothing.
    using L = cub::BlockLoad<int, 128, 2, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    __shared__ typename L::TempStorage temp;
    int x[2];
    if (X) L(temp).Load(a, x, 200); else L(temp).Load(a, x, 200, 0);
    b[2 * T] = x[0] + 1, b[2 * T + 1] = x[1] + 1;
}
TWIN(cub_partial_tile)
