// Labelled programs in pairs: what must be told of schedules, `volatile`, flags and exchanges.
//
// The lines above each are as in suites.cu.
// nvcc -arch=compute_90 -std=c++17 -O3 -ptx explored.cu -o explored.ptx && gzip -9n explored.ptx
#define K extern "C" __global__ void
#define ARGS int *a, int *b, int n
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
#define T threadIdx.x
#define V(P) (*(volatile int *)(P))

// ---- exchanges on memory that nobody has written
// @exchange_fills_ok ok grid=8 b=none
K exchange_fills_ok(ARGS) { atomicExch(&b[TID], a[TID]); }
// @exchange_leaves_out_bug init grid=8 b=none
K exchange_leaves_out_bug(ARGS) { if (TID != 77) atomicExch(&b[TID], a[TID]); }
// @exchange_fills_wide_ok ok grid=4 b=none
K exchange_fills_wide_ok(ARGS) { atomicExch((unsigned long long *)b + TID, (unsigned long long)a[TID]); }
// @exchange_in_shared_ok ok grid=8 b=none
K exchange_in_shared_ok(ARGS) {
    __shared__ int s[128];
    atomicExch(&s[T], a[TID]);
    __syncthreads();
    b[TID] = s[127 - T];
}
// @exchange_old_decides_bug init b=none
K exchange_old_decides_bug(ARGS) { if (atomicExch(&b[TID], 1) > 3) a[TID] = 0; }
// @exchange_old_decides_ok ok
K exchange_old_decides_ok(ARGS) { if (atomicExch(&b[TID], 1) > 3) a[TID] = 0; }
// @exchange_old_goes_on_bug init grid=8 b=none
// What was there goes to the host by another way.
K exchange_old_goes_on_bug(ARGS) {
    __shared__ int s[128];
    b[TID] = atomicExch(&s[T], a[TID]);
}
// @exchange_old_goes_on_ok ok grid=8 b=none
K exchange_old_goes_on_ok(ARGS) {
    __shared__ int s[128];
    s[T] = T;
    b[TID] = atomicExch(&s[T], a[TID]);
}
// @exchange_of_nothing_bug init grid=8 b=none
// A value that was never written is put there.
K exchange_of_nothing_bug(ARGS) {
    __shared__ int s[128];
    if (T < 64) s[T] = a[TID];
    __syncthreads();
    atomicExch(&b[TID], s[T]);
}
// @exchange_of_nothing_ok ok grid=8 b=none
K exchange_of_nothing_ok(ARGS) {
    __shared__ int s[128];
    s[T] = a[TID];
    __syncthreads();
    atomicExch(&b[TID], s[T]);
}
// @lock_never_cleared_bug init grid=1 block=1 b=none
K lock_never_cleared_bug(ARGS) {
    __shared__ int lock;
    while (atomicExch(&lock, 1)) {}
    for (int i = 0; i < n; i++) b[i] = a[i];
}
// @lock_never_cleared_ok ok grid=1 block=1 b=none
K lock_never_cleared_ok(ARGS) {
    __shared__ int lock;
    atomicExch(&lock, 0);
    while (atomicExch(&lock, 1)) {}
    for (int i = 0; i < n; i++) b[i] = a[i];
}

// ---- a store behind a flag
// @store_behind_flag_bug race grid=2 block=32
K store_behind_flag_bug(ARGS) {
    if (T != 0) return;
    if (blockIdx.x == 0) {
        b[8] = 7;
        __threadfence();
        V(&b[0]) = 1;
    } else {
        while (V(&b[0]) == 0) {}
        b[8] = 9;
    }
}
// @store_behind_flag_ok ok grid=2 block=32
K store_behind_flag_ok(ARGS) {
    if (T != 0) return;
    if (blockIdx.x == 0) {
        b[8] = 7;
        __threadfence();
        V(&b[0]) = 1;
    } else {
        while (V(&b[0]) == 0) {}
        __threadfence();
        b[8] = 9;
    }
}
// @slot_used_again_bug race grid=2 block=32
// The reader frees the slot; the writer fills it again, and lacks a fence behind its look at the flag.
K slot_used_again_bug(ARGS) {
    if (T != 0) return;
    for (int i = 0; i < 4; i++) {
        if (blockIdx.x == 0) {
            while (V(&b[0]) != 0) {}
            b[8] = i;
            __threadfence();
            V(&b[0]) = 1;
        } else {
            while (V(&b[0]) != 1) {}
            __threadfence();
            b[16 + i] = b[8];
            __threadfence();
            V(&b[0]) = 0;
        }
    }
}
// @slot_used_again_ok ok grid=2 block=32
K slot_used_again_ok(ARGS) {
    if (T != 0) return;
    for (int i = 0; i < 4; i++) {
        if (blockIdx.x == 0) {
            while (V(&b[0]) != 0) {}
            __threadfence();
            b[8] = i;
            __threadfence();
            V(&b[0]) = 1;
        } else {
            while (V(&b[0]) != 1) {}
            __threadfence();
            b[16 + i] = b[8];
            __threadfence();
            V(&b[0]) = 0;
        }
    }
}

// ---- volatile data
// @volatile_counter_bug race
K volatile_counter_bug(ARGS) { volatile int *d = b; d[0] = d[0] + 1; }
// @volatile_counter_ok ok
K volatile_counter_ok(ARGS) { atomicAdd(b, 1); }
// @volatile_counter_of_a_warp_bug race grid=1 block=32
K volatile_counter_of_a_warp_bug(ARGS) { volatile int *d = b; d[0] = d[0] + 1; }
// @volatile_counter_of_blocks_bug race block=1
K volatile_counter_of_blocks_bug(ARGS) { volatile int *d = b; d[3] += a[TID]; }
// @volatile_counter_of_one_ok ok
K volatile_counter_of_one_ok(ARGS) { volatile int *d = b; if (TID == 5) d[0] = d[0] + 1; d[TID + 1] += 1; }
// @volatile_counter_in_shared_bug race grid=1
K volatile_counter_in_shared_bug(ARGS) {
    __shared__ volatile int s;
    if (T == 0) s = 0;
    __syncthreads();
    if (T % 32 == 0) s = s + 1;
    __syncthreads();
    b[TID] = s;
}
// @volatile_counter_in_turns_ok ok grid=1
// Each thread has its turn between two barriers.
K volatile_counter_in_turns_ok(ARGS) {
    __shared__ volatile int s;
    if (T == 0) s = 0;
    __syncthreads();
    for (int i = 0; i < 128; i += 32) {
        if (T == i) s = s + 1;
        __syncthreads();
    }
    b[TID] = s;
}
// @volatile_counter_in_lock_ok ok block=32
K volatile_counter_in_lock_ok(ARGS) {
    if (T != 0) return;
    while (atomicCAS(&b[0], 0, 1) != 0) {}
    __threadfence();
    volatile int *d = b + 8;
    d[0] = d[0] + 1;
    __threadfence();
    atomicExch(&b[0], 0);
}
// @volatile_ticket_ok ok block=32
K volatile_ticket_ok(ARGS) {
    if (T != 0) return;
    int mine = atomicAdd(&b[0], 1);
    volatile int *serving = b + 1;
    while (*serving != mine) {}
    __threadfence();
    b[8] += a[TID];
    __threadfence();
    *serving = *serving + 1;
}
// @volatile_data_by_luck_bug race grid=2 block=32
// Flag and data are volatile, and no fence is anywhere.
K volatile_data_by_luck_bug(ARGS) {
    volatile int *d = b;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        d[8] = 7;
        d[0] = 1;
    } else {
        while (d[0] == 0) {}
        b[16] = d[8];
    }
}
// @volatile_data_in_order_ok ok grid=2 block=32
K volatile_data_in_order_ok(ARGS) {
    volatile int *d = b;
    if (T != 0) return;
    if (blockIdx.x == 0) {
        d[8] = 7;
        __threadfence();
        d[0] = 1;
    } else {
        while (d[0] == 0) {}
        __threadfence();
        b[16] = d[8];
    }
}
// @volatile_neighbour_bug race grid=1
K volatile_neighbour_bug(ARGS) {
    __shared__ volatile int s[128];
    s[T] = a[TID];
    b[TID] = s[127 - T];
}
// @volatile_neighbour_ok ok grid=1
K volatile_neighbour_ok(ARGS) {
    __shared__ volatile int s[128];
    s[T] = a[TID];
    __syncthreads();
    b[TID] = s[127 - T];
}
// @volatile_stop_flag_ok ok
// Somebody finds it, and all others give up soon: any order will do.
K volatile_stop_flag_ok(ARGS) {
    volatile int *stop = b;
    for (int i = 0; i < 8 && !*stop; i++)
        if (a[(TID + i) % n] == 300) *stop = 1;
}

// ---- barriers of a block of which threads have ended
// @barrier_in_a_branch_bug barrier grid=1 block=64
K barrier_in_a_branch_bug(ARGS) {
    __shared__ int s[64];
    if (T < 48) {
        s[T] = a[T];
        __syncthreads();
        b[T] = s[47 - T];
    }
}
// @barrier_in_a_branch_ok ok grid=1 block=64
K barrier_in_a_branch_ok(ARGS) {
    __shared__ int s[64];
    if (T < 48) s[T] = a[T];
    __syncthreads();
    if (T < 48) b[T] = s[47 - T];
}
// @barrier_of_whole_warps_ok ok grid=1 block=96
// The last warp ends as a whole, and no barrier waits for it.
K barrier_of_whole_warps_ok(ARGS) {
    __shared__ int s[64];
    if (T < 64) {
        s[T] = a[T];
        __syncthreads();
        b[T] = s[63 - T];
    }
}
