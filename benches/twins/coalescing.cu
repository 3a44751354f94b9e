// The coalescing kernels of kernels-gpu/src/base/coalescing.rs, written in CUDA C++: same names, parameters and algorithm.
// A Rust slice is a pointer and a length.
#include <cstddef>

struct __align__(8) Pair {
    float v[2];
};
struct __align__(16) Quad {
    float v[4];
};
struct Point {
    float x, y, z;
    __device__ __forceinline__ Point stretched(float by) const { return {x * by, y * (by + 1.0f), z * (by + 2.0f)}; }
};
struct __align__(16) PaddedPoint {
    Point point;
    float pad;
};

constexpr unsigned BLOCK = 256;

__device__ __forceinline__ size_t index() { return blockIdx.x * blockDim.x + threadIdx.x; }

extern "C" __global__ void copy_shifted(unsigned n, unsigned shift, const float *__restrict__ from, size_t, float *to) {
    size_t i = index();
    if (i < n) to[i] = from[i + shift];
}

extern "C" __global__ void copy_strided(unsigned n, unsigned stride, const float *__restrict__ from, size_t, float *to) {
    size_t i = index();
    if (i < n) to[i] = from[i * stride];
}

extern "C" __global__ void copy_scattered(unsigned n, const unsigned *__restrict__ order, size_t,
                                          const float *__restrict__ from, size_t, float *to) {
    size_t i = index();
    if (i < n) to[i] = from[order[i]];
}

extern "C" __global__ void copy_some_lanes(unsigned n, unsigned lanes, const float *__restrict__ from, size_t, float *to) {
    size_t i = index();
    if (i < n && (lanes >> (i % 32) & 1)) to[i] = from[i];
}

#define COPY(name, T)                                                                                                      \
    extern "C" __global__ void name(unsigned n, const T *__restrict__ from, size_t, T *to) {                               \
        size_t i = index();                                                                                                \
        if (i < n) to[i] = from[i];                                                                                        \
    }
COPY(copy_4_bytes, float)
COPY(copy_8_bytes, Pair)
COPY(copy_16_bytes, Quad)

extern "C" __global__ void stretch_structs(unsigned n, float by, const Point *__restrict__ from, size_t, Point *to) {
    size_t i = index();
    if (i < n) to[i] = from[i].stretched(by);
}

extern "C" __global__ void stretch_padded_structs(unsigned n, float by, const PaddedPoint *__restrict__ from, size_t,
                                                  PaddedPoint *to) {
    size_t i = index();
    if (i < n) {
        PaddedPoint p = from[i];
        to[i] = {p.point.stretched(by), p.pad};
    }
}

extern "C" __global__ void stretch_arrays(unsigned n, float by, const float *__restrict__ from, size_t, float *to) {
    size_t i = index(), count = n;
    if (i < count) {
        Point p = Point{from[i], from[count + i], from[2 * count + i]}.stretched(by);
        to[i] = p.x;
        to[count + i] = p.y;
        to[2 * count + i] = p.z;
    }
}

__device__ __forceinline__ void staged(size_t n, float by, const float *from, float *to) {
    constexpr size_t FLOATS = 3 * BLOCK;
    __shared__ float stage[FLOATS];
    size_t thread = threadIdx.x, first = blockIdx.x * FLOATS;
    for (int part = 0; part < 3; part++) {
        size_t i = part * BLOCK + thread;
        if (first + i < 3 * n) stage[i] = from[first + i];
    }
    __syncthreads();
    if (index() < n) {
        Point *own = reinterpret_cast<Point *>(stage + 3 * thread);
        *own = own->stretched(by);
    }
    __syncthreads();
    for (int part = 0; part < 3; part++) {
        size_t i = part * BLOCK + thread;
        if (first + i < 3 * n) to[first + i] = stage[i];
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    stretch_staged_structs(unsigned n, float by, const Point *__restrict__ from, size_t, Point *to) {
    staged(n, by, reinterpret_cast<const float *>(from), reinterpret_cast<float *>(to));
}

extern "C" __global__ void stretch_in_place(unsigned n, float by, Point *points) {
    size_t i = index();
    if (i < n) points[i] = points[i].stretched(by);
}

extern "C" __global__ void __launch_bounds__(BLOCK) stretch_staged_in_place(unsigned n, float by, Point *points) {
    staged(n, by, reinterpret_cast<float *>(points), reinterpret_cast<float *>(points));
}

// records.rs: structs of F floats to F arrays and back, four structs a thread, regrouped in shared memory.
constexpr int STRUCTS = 4 * BLOCK;

template <int F>
__device__ __forceinline__ constexpr int place(int chunk) {
    return F % 2 == 0 ? chunk + chunk / 8 : chunk;
}

__device__ __forceinline__ bool whole(unsigned n, unsigned pitch, size_t first, const void *a, const void *b) {
    return first + STRUCTS <= n && pitch % 4 == 0 && ((size_t(a) | size_t(b)) & 15) == 0;
}

template <int F>
__device__ __forceinline__ void to_arrays(unsigned n, size_t pitch, const float *from, float *to, uint4 *stage) {
    int thread = threadIdx.x;
    size_t first = size_t(blockIdx.x) * STRUCTS;
    if (!whole(n, pitch, first, from, to)) {
        for (int part = 0; part < 4; part++) {
            size_t i = first + part * BLOCK + thread;
            if (i < n)
                for (int field = 0; field < F; field++) to[field * pitch + i] = from[F * i + field];
        }
        return;
    }
    uint4 loaded[F];
#pragma unroll
    for (int part = 0; part < F; part++)
        loaded[part] = __ldg(reinterpret_cast<const uint4 *>(from + F * first + 4 * (part * BLOCK + thread)));
#pragma unroll
    for (int part = 0; part < F; part++) stage[place<F>(part * BLOCK + thread)] = loaded[part];
    __syncthreads();
    unsigned own[4 * F];
#pragma unroll
    for (int part = 0; part < F; part++) {
        uint4 v = stage[place<F>(F * thread + part)];
        own[4 * part] = v.x, own[4 * part + 1] = v.y, own[4 * part + 2] = v.z, own[4 * part + 3] = v.w;
    }
#pragma unroll
    for (int field = 0; field < F; field++)
        *reinterpret_cast<uint4 *>(to + field * pitch + first + 4 * thread) =
            make_uint4(own[field], own[F + field], own[2 * F + field], own[3 * F + field]);
}

template <int F>
__device__ __forceinline__ void to_structs(unsigned n, size_t pitch, const float *from, float *to, uint4 *stage) {
    int thread = threadIdx.x;
    size_t first = size_t(blockIdx.x) * STRUCTS;
    if (!whole(n, pitch, first, from, to)) {
        for (int part = 0; part < 4; part++) {
            size_t i = first + part * BLOCK + thread;
            if (i < n)
                for (int field = 0; field < F; field++) to[F * i + field] = from[field * pitch + i];
        }
        return;
    }
    unsigned words[4 * F];
#pragma unroll
    for (int field = 0; field < F; field++) {
        uint4 v = __ldg(reinterpret_cast<const uint4 *>(from + field * pitch + first + 4 * thread));
        words[field] = v.x, words[F + field] = v.y, words[2 * F + field] = v.z, words[3 * F + field] = v.w;
    }
#pragma unroll
    for (int part = 0; part < F; part++)
        stage[place<F>(F * thread + part)] =
            make_uint4(words[4 * part], words[4 * part + 1], words[4 * part + 2], words[4 * part + 3]);
    __syncthreads();
#pragma unroll
    for (int part = 0; part < F; part++)
        *reinterpret_cast<uint4 *>(to + F * first + 4 * (part * BLOCK + thread)) = stage[place<F>(part * BLOCK + thread)];
}

#define RECORDS(F, STRUCT, TO_ARRAYS, TO_STRUCTS)                                                                          \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                                                    \
        TO_ARRAYS(unsigned n, unsigned pitch, const STRUCT *__restrict__ from, size_t, float *__restrict__ to) {           \
        __shared__ uint4 stage[place<F>(F * BLOCK)];                                                                       \
        to_arrays<F>(n, pitch, reinterpret_cast<const float *>(from), to, stage);                                          \
    }                                                                                                                      \
    extern "C" __global__ void __launch_bounds__(BLOCK)                                                                    \
        TO_STRUCTS(unsigned n, unsigned pitch, const float *__restrict__ from, size_t, STRUCT *__restrict__ to) {          \
        __shared__ uint4 stage[place<F>(F * BLOCK)];                                                                       \
        to_structs<F>(n, pitch, from, reinterpret_cast<float *>(to), stage);                                               \
    }
RECORDS(3, Point, points_to_arrays, arrays_to_points)
RECORDS(4, Quad, quads_to_arrays, arrays_to_quads)
