// nvcc -ptx -arch=sm_90a -std=c++17 nvcc.cu
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;
namespace cg = cooperative_groups;

template <int M, int N, int K, class T, class C, class LA, class LB>
__device__ void product(const T *a, const T *b, C *d) {
    wmma::fragment<wmma::matrix_a, M, N, K, T, LA> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, T, LB> fb;
    wmma::fragment<wmma::accumulator, M, N, K, C> fc;
    wmma::fill_fragment(fc, C(2));
    wmma::load_matrix_sync(fa, a, std::is_same<LA, wmma::row_major>::value ? K : M);
    wmma::load_matrix_sync(fb, b, std::is_same<LB, wmma::row_major>::value ? N : K);
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; i++) fc.x[i] = fc.x[i] * C(3);
    wmma::store_matrix_sync(d, fc, N, wmma::mem_row_major);
}
using R = wmma::row_major;
using L = wmma::col_major;
#define PRODUCT(name, M, N, K, T, C, LA, LB)                                                  \
    extern "C" __global__ void name(const T *a, const T *b, C *d) { product<M, N, K, T, C, LA, LB>(a, b, d); }
PRODUCT(half_16_16_16, 16, 16, 16, half, float, R, L)
PRODUCT(half_8_32_16, 8, 32, 16, half, half, L, R)
PRODUCT(half_32_8_16, 32, 8, 16, half, float, R, R)
PRODUCT(bf16_16_16_16, 16, 16, 16, __nv_bfloat16, float, L, L)
PRODUCT(bf16_8_32_16, 8, 32, 16, __nv_bfloat16, float, R, R)
PRODUCT(s8_16_16_16, 16, 16, 16, signed char, int, R, L)
PRODUCT(u8_32_8_16, 32, 8, 16, unsigned char, int, L, R)
PRODUCT(f64_8_8_4, 8, 8, 4, double, double, R, L)

extern "C" __global__ void tf32_16_16_8(const float *a, const float *b, float *d) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, R> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, L> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
    wmma::fill_fragment(fc, 2.f);
    wmma::load_matrix_sync(fa, a, 8);
    wmma::load_matrix_sync(fb, b, 8);
    for (int i = 0; i < fa.num_elements; i++) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
    for (int i = 0; i < fb.num_elements; i++) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; i++) fc.x[i] *= 3.f;
    wmma::store_matrix_sync(d, fc, 16, wmma::mem_row_major);
}

// Tiles of 64 numbers through the stages of a pipeline of four: out[block] = weighted sum.
extern "C" __global__ void staged(const int *in, int *out, int tiles) {
    __shared__ int stage[4][64];
    auto fetch = [&](int tile) {
        if (tile < tiles) __pipeline_memcpy_async(&stage[tile % 4][threadIdx.x], &in[tile * 64 + threadIdx.x], 4);
        __pipeline_commit();
    };
    for (int tile = 0; tile < 3; tile++) fetch(tile);
    int sum = 0;
    for (int tile = 0; tile < tiles; tile++) {
        fetch(tile + 3);
        __pipeline_wait_prior(3);
        __syncthreads();
        sum += (tile + 1) * stage[tile % 4][63 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}

// The same through cuda::pipeline, whose stages are mbarriers, one half of the block producing.
extern "C" __global__ void roles(const int *in, int *out, int tiles) {
    __shared__ int stage[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cg::this_thread_block();
    auto role = threadIdx.x < 64 ? cuda::pipeline_role::consumer : cuda::pipeline_role::producer;
    auto pipe = cuda::make_pipeline(block, &state, role);
    if (role == cuda::pipeline_role::producer) {
        for (int tile = 0; tile < tiles; tile++) {
            pipe.producer_acquire();
            int lane = threadIdx.x - 64;
            cuda::memcpy_async(&stage[tile % 2][lane], &in[tile * 64 + lane], sizeof(int), pipe);
            pipe.producer_commit();
        }
    } else {
        int sum = 0;
        for (int tile = 0; tile < tiles; tile++) {
            pipe.consumer_wait();
            sum += (tile + 1) * stage[tile % 2][63 - threadIdx.x];
            pipe.consumer_release();
        }
        out[threadIdx.x] = sum;
    }
}

// A copy by the whole block, which ends at a cuda::barrier.
extern "C" __global__ void together(const int4 *in, int4 *out, int count) {
    extern __shared__ int4 tile[];
    __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
    auto block = cg::this_thread_block();
    if (threadIdx.x == 0) init(&barrier, blockDim.x);
    block.sync();
    cuda::memcpy_async(block, tile, in, cuda::aligned_size_t<16>(count * sizeof(int4)), barrier);
    barrier.arrive_and_wait();
    for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] = tile[count - 1 - i];
}

// Histogram over a cluster's shared memory, in the way of the programming guide.
extern "C" __global__ void __cluster_dims__(4, 1, 1) histogram(const int *in, int *bins, int count) {
    __shared__ int part[16];
    auto cluster = cg::this_cluster();
    if (threadIdx.x < 16) part[threadIdx.x] = 0;
    cluster.sync();
    for (int i = cluster.thread_rank(); i < count; i += cluster.num_threads()) {
        int bin = in[i];
        atomicAdd(cluster.map_shared_rank(part, bin / 16) + bin % 16, 1);
    }
    cluster.sync();
    if (threadIdx.x < 16) bins[cluster.block_rank() * 16 + threadIdx.x] = part[threadIdx.x];
}
