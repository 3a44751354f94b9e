// Ordinary CUDA C++: calls, recursion, function pointers, tables, local arrays, printing, the heap.
#include <cstdio>

struct Point { float x, y; int tag; };
__constant__ int table[4] = {3, 1, 4, 1};
__device__ int counter = 40;
__device__ int* pointer_to_counter = &counter;

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void recursion(int* out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

__device__ __noinline__ Point move(Point p, float by, long long big) { p.x += by; p.y -= by; p.tag += (int)(big >> 32); return p; }
extern "C" __global__ void structs(Point* p, long long big) {
    int i = threadIdx.x;
    p[i] = (i & 1) ? move(p[i], (float)i, big) : move(p[i], 0.5f, -big);
}

__device__ __noinline__ int twice(int a) { return 2 * a; }
__device__ __noinline__ int square(int a) { return a * a; }
__device__ __noinline__ int negative(int a) { return -a; }
typedef int (*Function)(int);
__device__ Function functions[3] = {twice, square, negative};
extern "C" __global__ void indirect(int* out) { int i = threadIdx.x; out[i] = functions[i % 3](i); }

extern "C" __global__ void choices(const int* in, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i], r;
    switch (v) {
        case 0: r = 100; break;
        case 1: r = i * 3; break;
        case 2: r = i - 7; break;
        case 3: r = i ^ 21; break;
        case 4: r = __popc(i); break;
        case 5: r = i << 2; break;
        case 6: r = -i; break;
        case 7: r = i / 3; break;
        default: r = i % 5;
    }
    out[i] = r;
}

extern "C" __global__ void collatz(const unsigned* in, int* out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, steps = 0;
    unsigned long long n = in[i];
    while (n != 1) {
        if (n & 1) { n = 3 * n + 1; if (steps > 400) break; } else n /= 2;
        steps++;
    }
    out[i] = steps;
}

extern "C" __global__ void local_sort(int* data) {
    int v[16], i = threadIdx.x;
    for (int k = 0; k < 16; k++) v[k] = data[i * 16 + k];
    for (int a = 1; a < 16; a++) { int x = v[a], b = a; while (b > 0 && v[b - 1] > x) { v[b] = v[b - 1]; b--; } v[b] = x; }
    for (int k = 0; k < 16; k++) data[i * 16 + k] = v[k];
}

extern "C" __global__ void spaces(int* out) {
    extern __shared__ int dynamic[];
    __shared__ int fixed[64];
    int i = threadIdx.x, mine[4] = {i, i + 1, i + 2, i + 3};
    dynamic[i] = i * 2; fixed[i] = table[i & 3];
    __syncthreads();
    int* p = (i % 3 == 0) ? &dynamic[63 - i] : (i % 3 == 1) ? &fixed[63 - i] : &mine[i & 3];
    atomicAdd(pointer_to_counter, 1);
    out[i] = *p + table[(i >> 2) & 3];
}

extern "C" __global__ void print(int n) {
    if (threadIdx.x < 2) printf("block %d thread %d: %5.2f %s %lld %c\n", blockIdx.x, threadIdx.x, n / 4.0, "text", 1LL << 40, 'x');
}

struct Node { int value; Node* next; };
extern "C" __global__ void heap(int* out) {
    Node* list = nullptr;
    for (int k = 0; k < 5; k++) { Node* n = (Node*)malloc(sizeof(Node)); n->value = k * threadIdx.x; n->next = list; list = n; }
    int sum = 0;
    while (list) { sum += list->value; Node* n = list->next; free(list); list = n; }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void doubles(const double* in, double* out) {
    int i = threadIdx.x; double x = in[i];
    out[i * 6 + 0] = sqrt(x); out[i * 6 + 1] = 1.0 / x; out[i * 6 + 2] = sin(x); out[i * 6 + 3] = exp(-x); out[i * 6 + 4] = pow(x, 1.5); out[i * 6 + 5] = log(x);
}
extern "C" __global__ void floats(const float* in, float* out) {
    int i = threadIdx.x; float x = in[i];
    out[i * 6 + 0] = sqrtf(x); out[i * 6 + 1] = 3.0f / x; out[i * 6 + 2] = sinf(x * 1000.0f); out[i * 6 + 3] = expf(-x); out[i * 6 + 4] = fmodf(x * 100.0f, 1.7f); out[i * 6 + 5] = logf(x);
}
extern "C" __global__ void bits(const unsigned* in, unsigned* out) {
    int i = threadIdx.x; unsigned x = in[i], y = in[i ^ 1], *o = out + i * 10;
    o[0] = __brev(x); o[1] = __clz(x); o[2] = __ffs(x); o[3] = __byte_perm(x, y, 0x5140); o[4] = __funnelshift_l(x, y, i);
    o[5] = __umulhi(x, y); o[6] = __dp4a((int)x, (int)y, 7); o[7] = __vadd4(x, y); o[8] = (unsigned)(((unsigned long long)x * y) % 1000003ull); o[9] = __usad(x, y, 5u);
}
extern "C" __global__ void assertion(int n) { if (threadIdx.x == 5 && n > 3) { printf("before\n"); __assert_fail("n <= 3", "language.cu", 99, "assertion"); } }
extern "C" __global__ void trapped(int n) { if (threadIdx.x == n) __trap(); }
