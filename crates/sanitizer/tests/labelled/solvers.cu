// Labelled programs in pairs, as in twins.cu: solvers, dynamic programming and decoders, from memory of what such programs do, and
// copies and fetches that go out of bounds beside another bug.
//
// The lines above each are as in suites.cu.
// nvcc -arch=compute_90 -std=c++17 -O3 -ptx solvers.cu -o solvers.ptx && gzip -9n solvers.ptx
#include <cooperative_groups.h>
#include <cuda_pipeline.h>
#include <mma.h>
namespace cg = cooperative_groups;
#define ARGS int *a, int *b, int n
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
#define T threadIdx.x
#define B(NAME, X, S) extern "C" __global__ void NAME##S(ARGS) { NAME<X>(a, b, n); }
#define TWIN(NAME) B(NAME, 0, _ok) B(NAME, 1, _bug)
#define D template <int X> __device__ __forceinline__ void

// ---- dynamic programming
// @sv_knapsack_ok ok grid=1
// @sv_knapsack_bug race grid=1
D sv_knapsack(ARGS) {
    // One row for all items: a capacity is read from below while its thread may have written it.
    __shared__ int best[128];
    best[T] = 0;
    __syncthreads();
    for (int item = 1; item < 9; item++) {
        int with = T >= item ? best[T - item] + a[item] : 0;
        if (!X) __syncthreads();
        best[T] = max(best[T], with);
        __syncthreads();
    }
    b[T] = best[T];
}
TWIN(sv_knapsack)
// @sv_edit_distance_ok ok grid=1
// @sv_edit_distance_bug race grid=1
D sv_edit_distance(ARGS) {
    // Three diagonals in turn; two are too few.
    constexpr int rows = X ? 2 : 3;
    __shared__ int diagonal[rows][130];
    for (int r = 0; r < rows; r++) diagonal[r][T + 1] = 1000;
    if (T == 0) for (int r = 0; r < rows; r++) diagonal[r][0] = diagonal[r][129] = 1000;
    __syncthreads();
    for (int d = 0; d < 255; d++) {
        int j = d - (int)T;
        if (j >= 0 && j < 128) {
            int *before = diagonal[(d + rows - 1) % rows], *twice = diagonal[(d + rows - 2) % rows];
            int other = a[T] != a[256 + j];
            int best = min(min(before[T], before[T + 1]) + 1, twice[T] + other);
            diagonal[d % rows][T + 1] = best;
        }
        __syncthreads();
    }
    b[T] = diagonal[254 % rows][T + 1];
}
TWIN(sv_edit_distance)
// @sv_floyd_warshall_ok ok grid=1 block=256
// @sv_floyd_warshall_bug race grid=1 block=256
D sv_floyd_warshall(ARGS) {
    __shared__ int d[16][16];
    int i = T / 16, j = T % 16;
    d[i][j] = a[T];
    __syncthreads();
    for (int k = 0; k < 16; k++) {
        // Row and column k do not change in step k.
        if (i != k && j != k) d[i][j] = min(d[i][j], d[i][k] + d[k][j]);
        if (!X || k % 4 == 3) __syncthreads();
    }
    b[T] = d[i][j];
}
TWIN(sv_floyd_warshall)

// ---- solvers
// @sv_pivot_swap_ok ok grid=1 block=64
// @sv_pivot_swap_bug race grid=1 block=64
D sv_pivot_swap(ARGS) {
    // Rows change places column by column; the elimination reads the pivot's column of all rows.
    __shared__ float m[8][8];
    int i = T / 8, j = T % 8;
    m[i][j] = a[T] + 1;
    __syncthreads();
    for (int k = 0; k < 7; k++) {
        int pivot = k + a[k] % (8 - k);
        if (i == k && pivot != k) {
            float x = m[k][j];
            m[k][j] = m[pivot][j];
            m[pivot][j] = x;
        }
        if (!X) __syncthreads();
        float factor = m[i][k] / m[k][k];
        __syncthreads();
        if (i > k && j >= k) m[i][j] -= factor * m[k][j];
        __syncthreads();
    }
    b[T] = (int)m[i][j];
}
TWIN(sv_pivot_swap)
// @sv_red_black_ok ok grid=1
// @sv_red_black_bug race grid=1
D sv_red_black(ARGS) {
    // Of 16 columns the colour is the parity of row plus column; by the column alone, neighbours above have the same.
    __shared__ int u[10][18];
    for (int i = T; i < 180; i += 128) u[i / 18][i % 18] = a[i];
    __syncthreads();
    int row = 1 + T / 16, column = 1 + T % 16;
    for (int step = 0; step < 4; step++) {
        int colour = X ? column : row + column;
        if (colour % 2 == step % 2)
            u[row][column] = (u[row - 1][column] + u[row + 1][column] + u[row][column - 1] + u[row][column + 1]) / 4;
        __syncthreads();
    }
    b[T] = u[row][column];
}
TWIN(sv_red_black)
// @sv_step_size_ok ok coop=1
// @sv_step_size_bug race coop=1
D sv_step_size(ARGS) {
    // One block makes the step of what all have added, and all take it.
    auto grid = cg::this_grid();
    atomicAdd(&b[512], a[TID]);
    grid.sync();
    if (TID == 0) b[513] = b[512] / 7;
    if (!X) grid.sync(); else __syncthreads();
    b[TID] = a[TID] * b[513];
}
TWIN(sv_step_size)
// @sv_bodies_ok ok grid=1
// @sv_bodies_bug race grid=1
D sv_bodies(ARGS) {
    // Forces of all on all, from places that move at the end of a step.
    for (int step = 0; step < 2; step++) {
        int force = 0;
        for (int other = 0; other < 128; other++) force += (b[other] - b[T]) >> 3;
        if (!X) __syncthreads();
        b[T] += force;
        __syncthreads();
    }
}
TWIN(sv_bodies)
// @sv_butterflies_ok ok grid=1
// @sv_butterflies_bug race grid=1
D sv_butterflies(ARGS) {
    // The last steps stay within a warp, and still need its barrier.
    __shared__ int s[256];
    s[T] = a[T];
    s[T + 128] = a[T + 128];
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        int low = T / half * 2 * half + T % half;
        int x = s[low], y = s[low + half];
        s[low] = x + y;
        s[low + half] = x - y;
        if (half > 32) __syncthreads(); else if (!X) __syncwarp();
    }
    b[T] = s[2 * T];
}
TWIN(sv_butterflies)

// ---- sparse rows and tables
// @sv_row_pointers_ok ok grid=4
// @sv_row_pointers_bug memory grid=4
D sv_row_pointers(ARGS) {
    // Rows of two; the table of where they start lacks its last entry.
    int rows = X ? n : n - 1;
    for (int row = TID; row < rows; row += gridDim.x * blockDim.x) {
        int sum = 0;
        for (int e = a[row]; e < a[row + 1]; e++) sum += e;
        b[row] = sum;
    }
}
TWIN(sv_row_pointers)
// @sv_torus_ok ok grid=8
// @sv_torus_bug memory grid=8
D sv_torus(ARGS) {
    // 32 × 32 cells that meet at their edges: the remainder of a negative number is negative.
    int x = TID % 32, y = TID / 32, alive = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int row = X ? (y + dy) % 32 : (y + dy + 32) % 32, column = (x + dx + 32) % 32;
            alive += a[row * 32 + column] & 1;
        }
    b[TID] = alive;
}
TWIN(sv_torus)
// @sv_bloom_filter_ok ok
// @sv_bloom_filter_bug race
D sv_bloom_filter(ARGS) {
    for (int hash = 0; hash < 3; hash++) {
        unsigned bit = (a[TID] * (2654435761u + 2 * hash)) >> 22;
        if (X) b[bit / 32] |= 1 << bit % 32; else atomicOr(&b[bit / 32], 1 << bit % 32);
    }
}
TWIN(sv_bloom_filter)
// @sv_leaders_ok ok
// @sv_leaders_bug init,race
D sv_leaders(ARGS) {
    // Lanes of one key count once, by their first; the place comes from a lane that does not take part.
    __shared__ int counts[16];
    if (T < 16) counts[T] = 0;
    __syncthreads();
    int key = a[TID] * 7 % 16;
    unsigned same = __match_any_sync(~0u, key);
    int leader = __ffs(same) - 1, place = 0;
    if ((int)(T % 32) == leader) {
        place = atomicAdd(&counts[key], __popc(same));
        if (X) place = __shfl_sync(1u << leader, place, 31 - leader);
    }
    if (!X) place = __shfl_sync(~0u, place, leader);
    if (place >= 0) b[TID] = place;
}
TWIN(sv_leaders)
// @sv_decoder_ok ok grid=1
// @sv_decoder_bug init grid=1
D sv_decoder(ARGS) {
    // Codes of 1 to 4 words, one behind the other: their places are a scan of their lengths, and the table is filled by symbol.
    __shared__ int table[8];
    if (T < (X ? 7 : 8)) table[T] = 3 * T;
    __syncthreads();
    int symbol = a[T] % 8;
    if (table[symbol] > 4) a[512 + T] = symbol;
}
TWIN(sv_decoder)

// ---- out of bounds, beside another bug
// @sv_copy_outside_ok ok grid=1
// @sv_copy_outside_bug race grid=1
D sv_copy_outside(ARGS) {
    // The last copies read beyond the end, and none is waited for by those who read what another has copied.
    __shared__ int s[512];
    int from = X ? 4 * T + 600 : 4 * T;
    __pipeline_memcpy_async(&s[4 * T], &a[from], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    if (!X) __syncthreads();
    b[T] = s[511 - T];
}
TWIN(sv_copy_outside)
// @sv_copied_index_ok ok grid=1
// @sv_copied_index_bug memory grid=1
D sv_copied_index(ARGS) {
    // What was not copied is no index that means anything.
    __shared__ int s[512];
    int from = X ? 4 * T + 600 : 4 * T;
    __pipeline_memcpy_async(&s[4 * T], &a[from], 16);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    b[s[4 * T]] = 1 + T;
}
TWIN(sv_copied_index)
// @sv_fragment_outside_ok ok grid=1 block=32
// @sv_fragment_outside_bug race grid=1 block=32
D sv_fragment_outside(ARGS) {
    // The tile's last rows lie beyond the matrix, and its neighbour's results in one place with its own.
    using namespace nvcuda::wmma;
    fragment<accumulator, 16, 16, 16, float> c;
    load_matrix_sync(c, (float *)a + (X ? 900 : 512), 16, mem_row_major);
    for (int i = 0; i < c.num_elements; i++) c.x[i] *= 2;
    store_matrix_sync((float *)b, c, 16, mem_row_major);
    if (!X) __syncwarp();
    b[256 + T] = b[255 - T];
}
TWIN(sv_fragment_outside)
