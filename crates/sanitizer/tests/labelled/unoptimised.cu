// Labelled programs without optimisation: a compare-and-swap lies in functions of its own there, and the plain load that it
// starts from in the caller.
//
// The line above each kernel is as in suites.cu, of which they are copies.
// nvcc -arch=compute_90 -std=c++17 -G -ptx unoptimised.cu -o unoptimised.ptx   (without its debug sections; then gzip -9n)
#include <cuda/atomic>
#define K extern "C" __global__ void
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
// @cas_double_add_ok ok
K cas_double_add_ok(int *a, int *b, int n) {
    unsigned long long *address = (unsigned long long *)b;
    unsigned long long old = *address, assumed;
    do {
        assumed = old;
        old = atomicCAS(address, assumed, __double_as_longlong(1.0 + __longlong_as_double(assumed)));
    } while (assumed != old);
}
// @cas_float_max_guess_ok ok
K cas_float_max_guess_ok(int *a, int *b, int n) {
    int old = b[3], assumed;
    do {
        assumed = old;
        if (__int_as_float(assumed) >= (float)threadIdx.x) break;
        old = atomicCAS(&b[3], assumed, __float_as_int((float)threadIdx.x));
    } while (assumed != old);
}
// @cas_shared_ok ok
K cas_shared_ok(int *a, int *b, int n) {
    __shared__ int top;
    if (threadIdx.x == 0) top = -1;
    __syncthreads();
    int old = top, assumed;
    do {
        assumed = old;
        old = atomicCAS(&top, assumed, max(assumed, a[TID]));
    } while (assumed != old);
    __syncthreads();
    b[TID] = top;
}
// @cas_then_plain_store race
K cas_then_plain_store(int *a, int *b, int n) {
    int old = b[0], assumed;
    do {
        assumed = old;
        old = atomicCAS(&b[0], assumed, assumed + 1);
    } while (assumed != old);
    if (old == 100) b[0] = 0;
}
// @cas_of_another_place race
K cas_of_another_place(int *a, int *b, int n) {
    int old = b[1];
    if (atomicCAS(&b[0], old, TID) == old) atomicAdd(&b[1], 1);
}
// The atomic of a byte: its first look at the word and its swap of it lie in functions of their own.
// @byte_atomic_beside_a_store_ok ok
K byte_atomic_beside_a_store_ok(int *a, int *b, int n) {
    unsigned char *p = (unsigned char *)b + 4 * (TID / 2);
    if (TID % 2) cuda::atomic_ref<unsigned char, cuda::thread_scope_device>(p[0]).fetch_add(1, cuda::memory_order_relaxed);
    else p[1] = 7;
}
// @byte_atomic_at_a_store race
K byte_atomic_at_a_store(int *a, int *b, int n) {
    unsigned char *p = (unsigned char *)b + 4 * (TID / 2);
    if (TID % 2) cuda::atomic_ref<unsigned char, cuda::thread_scope_device>(p[0]).fetch_add(1, cuda::memory_order_relaxed);
    else p[0] = 7;
}
// @word_load_beside_a_byte_store race
K word_load_beside_a_byte_store(int *a, int *b, int n) {
    unsigned char *p = (unsigned char *)b + 4 * (TID / 2);
    if (TID % 2) a[TID] = cuda::atomic_ref<int, cuda::thread_scope_device>(*(int *)p).load(cuda::memory_order_relaxed);
    else p[1] = 7;
}
