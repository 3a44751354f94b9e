// Memory: structures, alignment, initialised variables, pointers between them, local arrays, vectors.
#include <stdint.h>

struct Record {
    uint8_t tag;
    uint16_t id;
    double weight;
    uint32_t flags : 5, level : 11, rest : 16;
    int8_t bytes[3];
};

// Structures by value and in memory.
extern "C" __global__ void records(Record first, const Record *in, Record *out, int64_t offset) {
    Record r = threadIdx.x == 0 ? first : in[threadIdx.x];
    r.tag += 1;
    r.id ^= 0x0f0f;
    r.weight = r.weight * 2 + offset;
    r.flags = r.level;
    r.level += 3;
    r.rest -= 1;
    r.bytes[2] = r.bytes[0] * r.bytes[1];
    out[threadIdx.x] = r;
}

struct Node {
    int value;
    const Node *next;
};
__device__ const Node third = {300, nullptr};
__device__ const Node second = {200, &third};
__device__ const Node first_node = {100, &second};
__device__ const Node *const entries[3] = {&third, &first_node, &second};
__constant__ float weights[5] = {0.5f, -1.25f, 3.0f, 1e-3f, 65536.0f};
__device__ int counter = 41;
__constant__ char text[] = "warp";

// Initialised variables that point to each other.
extern "C" __global__ void linked(int *sums, float *weighted, int *letters) {
    int t = threadIdx.x, sum = 0;
    for (const Node *n = entries[t % 3]; n; n = n->next) sum = sum * 2 + n->value;
    sums[t] = sum;
    float w = 0;
    for (int i = 0; i < 5; i++) w += weights[(i + t) % 5] * (i + 1);
    weighted[t] = w;
    letters[t] = text[t % 5];
    if (t == 0) counter++;
    __syncthreads();
    if (t == 1) sums[t] += counter;
}

// One pointer that is shared, global or local.
__device__ __noinline__ int through_pointer(const int *p, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s = s * 3 + p[i];
    return s;
}

extern "C" __global__ void generic(const int *global, int *out) {
    __shared__ int shared[8];
    int local[8];
    int t = threadIdx.x;
    if (t < 8) shared[t] = global[t] + 1;
    for (int i = 0; i < 8; i++) local[(i * 5 + t) % 8] = i * t;
    __syncthreads();
    const int *p = t % 3 == 0 ? global : t % 3 == 1 ? shared : local;
    out[t] = through_pointer(p, 8);
}

// Vectors of two and four.
extern "C" __global__ void vectors(const float4 *a, const short4 *b, float4 *out, uchar4 *bytes, longlong2 *wide) {
    int t = threadIdx.x;
    float4 x = a[t];
    short4 y = b[t];
    out[t] = make_float4(x.w + y.x, x.z * y.y, x.y - y.z, x.x);
    bytes[t] = make_uchar4(y.x, y.y, y.z >> 8, y.w >> 8);
    wide[t] = make_longlong2((long long)y.x * y.y * y.z, -(long long)y.w);
}

// Tiled product of two 64 x 64 matrices.
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
    __shared__ float x[16][17], y[16][17];
    int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        x[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
        y[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + col];
        __syncthreads();
        for (int i = 0; i < 16; i++) sum += x[threadIdx.y][i] * y[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + col] = sum;
}

// Memory from the heap, and copies of odd sizes.
extern "C" __global__ void heap(const uint8_t *in, uint8_t *out) {
    int n = 5 + threadIdx.x * 3;
    uint8_t *own = (uint8_t *)malloc(n);
    if (!own) return;
    memset(own, 0xee, n);
    memcpy(own + 1, in + threadIdx.x, n - 2);
    for (int i = 0; i < 32; i++) out[threadIdx.x * 32 + i] = i < n ? own[i] : 0;
    free(own);
}
