// What a program decides while it runs: tiles of a warp, virtual calls, memory from the stack and from the heap.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <stdint.h>

namespace cg = cooperative_groups;

// Each tile of `width` lanes adds up its values, with the member mask of its own lanes.
extern "C" __global__ void tile_sums(const int *in, int *out, unsigned width) {
    unsigned lane = threadIdx.x & 31;
    unsigned members = (width == 32 ? ~0u : (1u << width) - 1) << (lane & ~(width - 1));
    int sum = in[threadIdx.x];
    for (unsigned d = width / 2; d > 0; d /= 2) sum += __shfl_xor_sync(members, sum, d, width);
    out[threadIdx.x] = sum;
}

// Tiles of a warp go different ways: those of odd values ask among themselves, then the warp meets again.
extern "C" __global__ void tile_votes(const int *in, unsigned *out) {
    unsigned lane = threadIdx.x & 31, members = 0xffu << (lane & 24);
    int value = in[threadIdx.x];
    unsigned odd = __ballot_sync(members, value & 1);
    unsigned answer = 0;
    if (value & 1) {
        answer = __match_any_sync(odd, value);
        __syncwarp(odd);
    }
    answer += __popc(__ballot_sync(~0u, value > 50)) << 24;
    out[threadIdx.x] = answer;
}

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Square : Shape {
    float edge;
    __device__ Square(float edge) : edge(edge) {}
    __device__ float area() const override { return edge * edge; }
};
struct Strip : Shape {
    float length;
    __device__ Strip(float length) : length(length) {}
    __device__ float area() const override { return 3.0f * length; }
};

// Objects on the device's heap, called through their tables.
extern "C" __global__ void areas(float *out) {
    unsigned t = threadIdx.x;
    Shape *shape = t & 1 ? (Shape *)new Square(t) : (Shape *)new Strip(t);
    out[t] = shape->area();
    delete shape;
}

// An array whose length is known only now, and another in each round of a loop.
extern "C" __global__ void from_the_stack(const int *in, int *out, int length) {
    int *line = (int *)alloca((length + threadIdx.x % 3) * sizeof(int));
    for (int i = 0; i < length; i++) line[i] = in[i] * (int)threadIdx.x;
    int sum = 0;
    for (int round = 1; round < 4; round++) {
        int *copy = (int *)alloca(length * sizeof(int));
        for (int i = 0; i < length; i++) copy[i] = line[(i + round) % length];
        for (int i = 0; i < length; i++) sum += round * copy[(i * 7) % length];
    }
    out[threadIdx.x] = sum;
}

// 128-bit arithmetic: products, quotients, shifts.
extern "C" __global__ void wide(const uint64_t *in, uint64_t *out) {
    unsigned __int128 a = (unsigned __int128)in[threadIdx.x] * in[threadIdx.x + 1];
    unsigned __int128 b = a / (in[threadIdx.x] % 1000 + 1) + (a >> (threadIdx.x % 100));
    b %= (unsigned __int128)1000000007 * 998244353;
    out[2 * threadIdx.x] = (uint64_t)b;
    out[2 * threadIdx.x + 1] = (uint64_t)(b >> 64);
}

// Tiles of four warps: cooperative groups keep their barriers in the part of shared memory that the system reserves.
extern "C" __global__ void wide_tiles(const int *in, int *out) {
    __shared__ cg::block_tile_memory<256> memory;
    auto block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<128>(block);
    int sum = cg::reduce(tile, in[threadIdx.x], cg::plus<int>());
    tile.sync();
    out[threadIdx.x] = 2 * sum + tile.any(in[threadIdx.x] == 99);
}
