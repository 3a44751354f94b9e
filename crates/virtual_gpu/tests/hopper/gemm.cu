// nvcc -ptx -arch=sm_90a -std=c++17 gemm.cu
// A warp-specialised bf16 product in the manner of the fast kernels for Hopper: C[M×N] = A[M×K] · B[N×K]^T.
// A cluster of two blocks stacked along M; each loads its own 128×64 tile of A and half of the 128×64 tile of B that it
// sends to both. Warpgroup 0 loads, warpgroups 1 and 2 multiply 64 rows each; C leaves through stmatrix and a tensor store.
#include <cuda_bf16.h>
#include <cstdint>

constexpr int BM = 128, BN = 128, BK = 64, STAGES = 3;
struct alignas(64) Map { char bytes[128]; };
struct Shared {
    alignas(1024) __nv_bfloat16 a[STAGES][BM * BK];
    alignas(1024) __nv_bfloat16 b[STAGES][BN * BK];
    alignas(1024) __nv_bfloat16 c[2][2][64 * 64];
    alignas(8) uint64_t full[STAGES], empty[STAGES];
};

__device__ uint32_t smem(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ void wait(uint32_t bar, int parity) {
    asm volatile("{\n.reg .pred p;\nW: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1;\n@!p bra W;\n}"
                 ::"r"(bar), "r"(parity) : "memory");
}
__device__ void load(uint32_t dst, const Map *map, int x, int y, uint32_t bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 ::"r"(dst), "l"(map), "r"(x), "r"(y), "r"(bar) : "memory");
}
__device__ void load_both(uint32_t dst, const Map *map, int x, int y, uint32_t bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(dst), "l"(map), "r"(x), "r"(y), "r"(bar), "h"((short)3) : "memory");
}
__device__ uint64_t descriptor(uint32_t address) {
    return (uint64_t)((address & 0x3FFFF) >> 4) | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}
#define D8(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])
__device__ void multiply(float (&d)[64], uint64_t a, uint64_t b, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, p, 1, 1, 0, 0;\n}"
        : D8(0), D8(8), D8(16), D8(24), D8(32), D8(40), D8(48), D8(56)
        : "l"(a), "l"(b), "r"(add));
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384)
gemm(const __grid_constant__ Map map_a, const __grid_constant__ Map map_b, const __grid_constant__ Map map_c, int n, int k) {
    extern __shared__ __align__(1024) char raw[];
    Shared &s = *reinterpret_cast<Shared *>(raw);
    uint32_t rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    int group = threadIdx.x / 128, lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
    int tiles_n = n / BN, tile = blockIdx.x / 2;
    int row = (tile / tiles_n * 2 + rank) * BM, column = tile % tiles_n * BN, steps = (k + BK - 1) / BK;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(smem(&s.full[i])));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 4;" ::"r"(smem(&s.empty[i])));
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) {
            for (int step = 0; step < steps; step++) {
                int stage = step % STAGES, parity = step / STAGES & 1;
                wait(smem(&s.empty[stage]), parity ^ 1);
                uint32_t full = smem(&s.full[stage]);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(full), "r"((BM + BN) * BK * 2) : "memory");
                load(smem(s.a[stage]), &map_a, step * BK, row, full);
                load_both(smem(s.b[stage]) + rank * (BN / 2 * BK * 2), &map_b, step * BK, column + rank * (BN / 2), full);
            }
            // No block may leave while the other still sends to it or arrives at its barriers.
            for (int step = steps; step < steps + STAGES; step++)
                if (step >= STAGES) wait(smem(&s.empty[step % STAGES]), step / STAGES + 1 & 1);
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        float d[64];
        for (int i = 0; i < 64; i++) d[i] = 0;
        for (int step = 0; step < steps; step++) {
            int stage = step % STAGES;
            wait(smem(&s.full[stage]), step / STAGES & 1);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            uint64_t a = descriptor(smem(s.a[stage]) + (group - 1) * 64 * 128), b = descriptor(smem(s.b[stage]));
            for (int i = 0; i < BK / 16; i++) multiply(d, a + 2 * i, b + 2 * i, step + i != 0);
            asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (threadIdx.x % 128 < 2) {
                uint32_t remote;
                asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(smem(&s.empty[stage])), "r"(threadIdx.x % 128));
                asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(remote) : "memory");
            }
        }
        for (int i = 0; i < 16; i += 2) {
            uint32_t r[4];
            for (int j = 0; j < 4; j++) {
                __nv_bfloat162 pair = __floats2bfloat162_rn(d[4 * i + 2 * j], d[4 * i + 2 * j + 1]);
                r[j] = *reinterpret_cast<uint32_t *>(&pair);
            }
            // Matrices: upper and lower rows of columns 8i, then of columns 8(i + 1).
            int line = warp * 16 + lane % 16, piece = i % 8 + lane / 16;
            uint32_t at = smem(s.c[group - 1][i / 8]) + line * 128 + ((piece ^ line % 8) << 4);
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;\nbar.sync %0, 128;" ::"r"(group) : "memory");
        if (threadIdx.x % 128 == 0) {
            for (int half = 0; half < 2; half++)
                asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map_c),
                             "r"(column + half * 64), "r"(row + (group - 1) * 64), "r"(smem(s.c[group - 1][half])) : "memory");
            asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
        }
    }
    asm volatile("barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;" ::: "memory");
}
