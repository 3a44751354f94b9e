// Labelled programs in pairs: what must be told of schedules, `volatile`, flags, exchanges, accesses out of bounds and barriers.
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
// @early_return_of_a_part_bug barrier grid=1 block=64
K early_return_of_a_part_bug(ARGS) {
    if (T >= 40) return;
    b[T] = a[T];
    __syncthreads();
    b[T + 64] = b[39 - T];
}
// @early_return_of_a_warp_ok ok grid=1 block=64
K early_return_of_a_warp_ok(ARGS) {
    if (T >= 32) return;
    b[T] = a[T];
    __syncthreads();
    b[T + 64] = b[31 - T];
}

// ---- schedules: who comes first, and who comes in between
#define LOCK(L) while (atomicCAS(L, 0, 1) != 0) {} __threadfence()
// @first_lacks_a_fence_bug race grid=2 block=32
K first_lacks_a_fence_bug(ARGS) {
    if (T != 0) return;
    LOCK(&b[0]);
    b[8] += 1;
    if (blockIdx.x != 0) __threadfence();
    atomicExch(&b[0], 0);
}
// @last_lacks_a_fence_bug race grid=2 block=32
K last_lacks_a_fence_bug(ARGS) {
    if (T != 0) return;
    LOCK(&b[0]);
    b[8] += 1;
    if (blockIdx.x != 1) __threadfence();
    atomicExch(&b[0], 0);
}
// @none_lacks_a_fence_ok ok grid=2 block=32
K none_lacks_a_fence_ok(ARGS) {
    if (T != 0) return;
    LOCK(&b[0]);
    b[8] += 1;
    __threadfence();
    atomicExch(&b[0], 0);
}
// @first_warp_lacks_a_fence_bug race grid=1 block=64
K first_warp_lacks_a_fence_bug(ARGS) {
    if (T % 32 != 0) return;
    LOCK(&b[0]);
    b[8] += 1;
    if (T != 0) __threadfence();
    atomicExch(&b[0], 0);
}
// @last_warp_lacks_a_fence_bug race grid=1 block=64
K last_warp_lacks_a_fence_bug(ARGS) {
    if (T % 32 != 0) return;
    LOCK(&b[0]);
    b[8] += 1;
    if (T == 0) __threadfence();
    atomicExch(&b[0], 0);
}
// @no_warp_lacks_a_fence_ok ok grid=1 block=64
K no_warp_lacks_a_fence_ok(ARGS) {
    if (T % 32 != 0) return;
    LOCK(&b[0]);
    b[8] += 1;
    __threadfence();
    atomicExch(&b[0], 0);
}
// The flag stands between two stores only.
#define SEEN_FOR_A_MOMENT(WRITER, FENCE)                                            \
    if (T != 0) return;                                                             \
    if (blockIdx.x == WRITER) {                                                     \
        b[8] = 5;                                                                   \
        __threadfence();                                                            \
        V(&b[0]) = 1;                                                               \
        V(&b[0]) = 0;                                                               \
    } else if (V(&b[0]) == 1) {                                                     \
        FENCE;                                                                      \
        b[16] = b[8];                                                               \
    }
// @seen_for_a_moment_bug race grid=2 block=32
K seen_for_a_moment_bug(ARGS) { SEEN_FOR_A_MOMENT(0, ) }
// @seen_for_a_moment_by_the_first_bug race grid=2 block=32
K seen_for_a_moment_by_the_first_bug(ARGS) { SEEN_FOR_A_MOMENT(1, ) }
// @seen_for_a_moment_ok ok grid=2 block=32
K seen_for_a_moment_ok(ARGS) { SEEN_FOR_A_MOMENT(0, __threadfence()) }
// @seen_for_a_moment_by_the_first_ok ok grid=2 block=32
K seen_for_a_moment_by_the_first_ok(ARGS) { SEEN_FOR_A_MOMENT(1, __threadfence()) }

// ---- out of bounds, and what else is wrong
// @outside_and_racing_bug race
K outside_and_racing_bug(ARGS) {
    int x = a[TID + 700];
    b[TID / 2] = x + T;
}
// @outside_and_racing_ok ok
K outside_and_racing_ok(ARGS) {
    int x = TID + 700 < n ? a[TID + 700] : 0;
    b[TID] = x + T;
}
// @outside_and_undefined_bug init b=none
K outside_and_undefined_bug(ARGS) {
    a[TID + 600] = 1;
    if (b[TID] > 5) a[TID] = 1;
}
// @outside_and_undefined_ok ok
K outside_and_undefined_ok(ARGS) {
    if (TID + 600 < n) a[TID + 600] = 1;
    if (b[TID] > 5) a[TID] = 1;
}
// @outside_and_no_barrier_bug race grid=1
K outside_and_no_barrier_bug(ARGS) {
    __shared__ int s[128];
    s[T] = a[8 * T + 8];
    b[TID] = s[127 - T];
}
// @outside_and_no_barrier_ok ok grid=1
K outside_and_no_barrier_ok(ARGS) {
    __shared__ int s[128];
    s[T] = a[8 * T];
    __syncthreads();
    b[TID] = s[127 - T];
}
// @end_of_the_last_row_bug memory
K end_of_the_last_row_bug(ARGS) {
    for (int j = a[TID + 512]; j < a[TID + 513]; j++) atomicAdd(&b[j], 1);
}
// @end_of_the_last_row_ok ok
K end_of_the_last_row_ok(ARGS) {
    if (TID + 513 < n)
        for (int j = a[TID + 512]; j < a[TID + 513]; j++) atomicAdd(&b[j], 1);
}

// ---- many atomics on one place
// @contended_atomics_ok ok block=256
K contended_atomics_ok(ARGS) {
    __shared__ int s[2];
    if (T < 2) s[T] = 0;
    __syncthreads();
    for (int i = 0; i < 4; i++) {
        atomicAdd(&b[0], 1);
        atomicMax(&b[1], a[TID % n]);
        atomicAdd(&s[i % 2], 1);
        atomicCAS(&b[2], i, i + 1);
        atomicExch(&b[3], T);
    }
    __syncthreads();
    if (T < 2) atomicAdd(&b[4 + T], s[T]);
}
// @contended_atomics_bug race block=256
K contended_atomics_bug(ARGS) {
    for (int i = 0; i < 4; i++) {
        atomicAdd(&b[0], 1);
        atomicExch(&b[3], T);
    }
    if (T == 0) b[3] = b[0];
}
