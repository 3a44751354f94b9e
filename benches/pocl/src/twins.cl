// The same algorithms in OpenCL C. Where the kernel exchanges values by shuffles, the twin does so in local memory, which every
// OpenCL device has.

kernel void saxpy(float a, global const float *x, global float *y, uint n) {
    uint i = get_global_id(0);
    if (i < n) y[i] += a * x[i];
}

kernel void naive(uint n, global const float *a, global const float *b, global float *c) {
    uint col = get_global_id(0), row = get_global_id(1);
    if (row >= n || col >= n) return;
    float sum = 0;
    for (uint i = 0; i < n; i++) sum += a[row * n + i] * b[i * n + col];
    c[row * n + col] = sum;
}

kernel void tiled(uint n, global const float *a, global const float *b, global float *c) {
    local float tile_a[16][16], tile_b[16][16];
    uint x = get_local_id(0), y = get_local_id(1);
    uint col = get_group_id(0) * 16 + x, row = get_group_id(1) * 16 + y;
    float sum = 0;
    for (uint first = 0; first < n; first += 16) {
        tile_a[y][x] = row < n && first + x < n ? a[row * n + first + x] : 0;
        tile_b[y][x] = first + y < n && col < n ? b[(first + y) * n + col] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < 16; i++) sum += tile_a[y][i] * tile_b[i][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < n && col < n) c[row * n + col] = sum;
}

kernel void column_order(uint n, global const float *a, global const float *b, global float *c) {
    local float tile_a[16][16], tile_b[16][16];
    uint x = get_local_id(0), y = get_local_id(1);
    uint col = get_group_id(0) * 16 + x, row = get_group_id(1) * 16 + y;
    float sum = 0;
    for (uint first = 0; first < n; first += 16) {
        tile_a[x][y] = row < n && first + x < n ? a[row * n + first + x] : 0;
        tile_b[x][y] = first + y < n && col < n ? b[(first + y) * n + col] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint i = 0; i < 16; i++) sum += tile_a[i][y] * tile_b[x][i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < n && col < n) c[row * n + col] = sum;
}

kernel void transpose(uint n, global const float *from, global float *to) {
    local float tile[32][33];
    uint x = get_local_id(0), y = get_local_id(1);
    uint row = get_group_id(1) * 32, col = get_group_id(0) * 32;
    for (uint r = y; r < 32; r += 8)
        if (row + r < n && col + x < n) tile[r][x] = from[(row + r) * n + col + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint r = y; r < 32; r += 8)
        if (col + r < n && row + x < n) to[(col + r) * n + row + x] = tile[x][r];
}

kernel void sums(global const float *x, uint n, global float *sums) {
    local float scratch[256];
    uint thread = get_local_id(0);
    float sum = 0;
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) sum += x[i];
    scratch[thread] = sum;
    for (uint half_ = 128; half_ > 0; half_ /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (thread < half_) scratch[thread] += scratch[thread + half_];
    }
    if (thread == 0) sums[get_group_id(0)] = scratch[0];
}

kernel void histogram(global const uchar *bytes, uint n, global uint *counts) {
    local uint own[256];
    uint thread = get_local_id(0);
    own[thread] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&own[bytes[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&counts[thread], own[thread]);
}

kernel void stencil(uint n, global const float *from, global float *to) {
    local float tile[18][18];
    uint x = get_local_id(0), y = get_local_id(1);
    uint row = get_group_id(1) * 16, col = get_group_id(0) * 16;
    for (uint i = y * 16 + x; i < 18 * 18; i += 256) {
        uint r = row + i / 18 - 1, c = col + i % 18 - 1;
        tile[i / 18][i % 18] = r < n && c < n ? from[r * n + c] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (row + y < n && col + x < n)
        to[(row + y) * n + col + x] =
            (tile[y + 1][x + 1] + tile[y][x + 1] + tile[y + 2][x + 1] + tile[y + 1][x] + tile[y + 1][x + 2]) / 5;
}

kernel void softmax(global const float *x, uint cols, global float *y) {
    local float scratch[128];
    uint thread = get_local_id(0), row = get_group_id(0);
    x += row * cols;
    y += row * cols;
    float most = -INFINITY;
    for (uint col = thread; col < cols; col += 128) most = fmax(most, x[col]);
    scratch[thread] = most;
    for (uint half_ = 64; half_ > 0; half_ /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (thread < half_) scratch[thread] = fmax(scratch[thread], scratch[thread + half_]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    most = scratch[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0;
    for (uint col = thread; col < cols; col += 128) sum += exp(x[col] - most);
    scratch[thread] = sum;
    for (uint half_ = 64; half_ > 0; half_ /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (thread < half_) scratch[thread] += scratch[thread + half_];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = scratch[0];
    for (uint col = thread; col < cols; col += 128) y[col] = exp(x[col] - most) / sum;
}

kernel void scan(global const uint *x, uint n, global uint *inclusive, global uint *exclusive, global uint *totals) {
    local uint scratch[2][256];
    uint thread = get_local_id(0), i = get_global_id(0), now = 0;
    uint own = i < n ? x[i] : 0;
    scratch[0][thread] = own;
    for (uint distance = 1; distance < 256; distance *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        scratch[1 - now][thread] = scratch[now][thread] + (thread >= distance ? scratch[now][thread - distance] : 0);
        now = 1 - now;
    }
    uint sum = scratch[now][thread];
    if (i < n) {
        inclusive[i] = sum;
        exclusive[i] = sum - own;
    }
    if (thread == 255) totals[get_group_id(0)] = sum;
}
