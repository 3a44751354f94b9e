// Control flow: divergence, calls, recursion, tables of functions, switches.
#include <stdint.h>

// Steps of the Collatz sequence: every lane leaves its loop at another time.
extern "C" __global__ void collatz(uint32_t *steps) {
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    uint64_t n = thread + 1;
    uint32_t count = 0;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        count++;
    }
    steps[thread] = count;
}

__device__ __noinline__ uint32_t fibonacci(uint32_t n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ __noinline__ uint32_t ackermann(uint32_t m, uint32_t n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recursion(uint32_t *out) {
    uint32_t t = threadIdx.x;
    out[2 * t] = fibonacci(t % 14);
    out[2 * t + 1] = ackermann(t % 3, t % 5);
}

__device__ __noinline__ void quicksort(int *a, int low, int high) {
    if (low >= high) return;
    int pivot = a[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) {
            int swapped = a[i];
            a[i++] = a[j];
            a[j--] = swapped;
        }
    }
    quicksort(a, low, j);
    quicksort(a, i, high);
}

// Each thread sorts its own row, in local memory.
extern "C" __global__ void sort_rows(int *rows) {
    int local[24];
    int *row = rows + threadIdx.x * 24;
    for (int i = 0; i < 24; i++) local[i] = row[i];
    quicksort(local, 0, 23);
    for (int i = 0; i < 24; i++) row[i] = local[i];
}

typedef int (*Operation)(int, int);
__device__ __noinline__ int sum(int a, int b) { return a + b; }
__device__ __noinline__ int difference(int a, int b) { return a - b; }
__device__ __noinline__ int product(int a, int b) { return a * b; }
__device__ __noinline__ int power(int a, int b) {
    int r = 1;
    for (int i = 0; i < (b & 7); i++) r *= a;
    return r;
}
__device__ Operation operations[4] = {sum, difference, product, power};

// Calls through a table in global memory, every lane another function.
extern "C" __global__ void through_table(const int *a, const int *b, int *out) {
    int t = threadIdx.x;
    out[t] = operations[(a[t] ^ t) & 3](a[t], b[t]);
}

struct Shape {
    int size;
    __device__ Shape(int s) : size(s) {}
    __device__ virtual int area() const { return 0; }
    __device__ virtual int corners() const { return size; }
};
struct Square : Shape {
    __device__ Square(int s) : Shape(s) {}
    __device__ int area() const override { return size * size; }
    __device__ int corners() const override { return 4; }
};
struct Triangle : Shape {
    __device__ Triangle(int s) : Shape(s) {}
    __device__ int area() const override { return size * size / 2; }
};

// Virtual functions.
extern "C" __global__ void virtual_calls(int *out) {
    int t = threadIdx.x;
    Square square(t);
    Triangle triangle(t + 1);
    Shape plain(t + 2);
    Shape *shapes[3] = {&square, &triangle, &plain};
    Shape *chosen = shapes[(t * 7) % 3];
    out[t] = chosen->area() * 100 + chosen->corners();
}

// A dense switch, a fall-through and a continue.
extern "C" __global__ void machine(const uint8_t *program, int length, int *out) {
    int t = threadIdx.x, acc = t, other = 1;
    for (int pc = 0; pc < length; pc++) {
        switch ((program[pc] + t) % 11) {
        case 0: acc += 3; break;
        case 1: acc *= 5; break;
        case 2: acc ^= other; break;
        case 3: other += acc; continue;
        case 4: acc -= 17; // falls through
        case 5: other <<= 1; break;
        case 6: if (acc & 1) pc++; break;
        case 7: acc = -acc; break;
        case 8: { int s = acc; acc = other; other = s; } break;
        case 9: acc >>= 1; break;
        default: other ^= 0x55; break;
        }
        acc += pc;
    }
    out[t] = acc ^ other;
}

// Queens on a board: backtracking with a stack of its own.
extern "C" __global__ void queens(uint32_t *counts) {
    const int n = 4 + threadIdx.x % 4;
    uint32_t columns[9], left[9], right[9], open[9], found = 0;
    uint32_t all = (1u << n) - 1;
    int row = 0;
    columns[0] = left[0] = right[0] = 0;
    open[0] = all;
    while (row >= 0) {
        if (!open[row]) { row--; continue; }
        uint32_t bit = open[row] & -open[row];
        open[row] ^= bit;
        if (row == n - 1) { found++; continue; }
        columns[row + 1] = columns[row] | bit;
        left[row + 1] = (left[row] | bit) << 1;
        right[row + 1] = (right[row] | bit) >> 1;
        row++;
        open[row] = all & ~(columns[row] | left[row] | right[row]);
    }
    counts[threadIdx.x] = found;
}
