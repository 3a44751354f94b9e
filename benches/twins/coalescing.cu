// The coalescing kernels of kernels-gpu/src/coalescing.rs, written in CUDA C++: same names, parameters and algorithm.
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
