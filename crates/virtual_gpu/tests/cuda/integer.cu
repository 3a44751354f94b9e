// Integer work of ordinary programs: hashing, checksums, wide arithmetic, bytes.
#include <stdint.h>

__constant__ uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

__device__ static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

// SHA-256 of the four bytes of each thread's number.
extern "C" __global__ void sha256(uint32_t *digests) {
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t w[64] = {__byte_perm(thread, 0, 0x0123), 0x80000000};
    w[15] = 32;
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    uint32_t h[8];
    for (int i = 0; i < 8; i++) h[i] = start[i];
#pragma unroll 1
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate(h[4], 6) ^ rotate(h[4], 11) ^ rotate(h[4], 25);
        uint32_t t1 = h[7] + s1 + ((h[4] & h[5]) ^ (~h[4] & h[6])) + round_constants[i] + w[i];
        uint32_t s0 = rotate(h[0], 2) ^ rotate(h[0], 13) ^ rotate(h[0], 22);
        uint32_t t2 = s0 + ((h[0] & h[1]) ^ (h[0] & h[2]) ^ (h[1] & h[2]));
        for (int j = 7; j > 0; j--) h[j] = h[j - 1];
        h[4] += t1;
        h[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) digests[thread * 8 + i] = start[i] + h[i];
}

// CRC-32 of a byte range, table built in shared memory.
extern "C" __global__ void crc32(const uint8_t *bytes, const uint32_t *lengths, uint32_t *sums) {
    __shared__ uint32_t table[256];
    for (uint32_t i = threadIdx.x; i < 256; i += blockDim.x) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++) c = c & 1 ? c >> 1 ^ 0xedb88320 : c >> 1;
        table[i] = c;
    }
    __syncthreads();
    uint32_t c = ~0u;
    for (uint32_t i = 0; i < lengths[threadIdx.x]; i++) c = table[(c ^ bytes[i + threadIdx.x]) & 0xff] ^ c >> 8;
    sums[threadIdx.x] = ~c;
}

// a^e mod m in 64 bits, through 128-bit products.
__device__ static uint64_t mulmod(uint64_t a, uint64_t b, uint64_t m) {
    return (uint64_t)((unsigned __int128)a * b % m);
}

extern "C" __global__ void powmod(const uint64_t *a, const uint64_t *e, const uint64_t *m, uint64_t *result) {
    int t = threadIdx.x;
    uint64_t base = a[t] % m[t], r = 1;
    for (uint64_t n = e[t]; n; n >>= 1) {
        if (n & 1) r = mulmod(r, base, m[t]);
        base = mulmod(base, base, m[t]);
    }
    result[t] = r;
}

// Signed and unsigned division of all widths, and what C makes of narrow types.
extern "C" __global__ void divide(const int64_t *a, const int64_t *b, int64_t *out) {
    int t = threadIdx.x;
    int64_t x = a[t], y = b[t];
    int64_t *o = out + t * 12;
    o[0] = x / y;
    o[1] = x % y;
    o[2] = (uint64_t)x / (uint64_t)y;
    o[3] = (uint64_t)x % (uint64_t)y;
    o[4] = (int32_t)x / ((int32_t)y | 1);
    o[5] = (int32_t)x % ((int32_t)y | 1);
    o[6] = (uint32_t)x / ((uint32_t)y | 1);
    o[7] = (int16_t)x / ((int16_t)y | 1);
    o[8] = (int8_t)x % ((int8_t)y | 1);
    o[9] = (int64_t)((unsigned __int128)(uint64_t)x * (uint64_t)y >> 64);
    o[10] = x / 7 + x % 1000003;
    o[11] = __mul64hi(x, y);
}

// Edit distance of two short strings, rows in local memory.
extern "C" __global__ void levenshtein(const char *words, uint32_t *distance) {
    const char *a = words + blockIdx.x * 16, *b = words + threadIdx.x * 16;
    uint8_t row[17];
    int n = 0;
    while (n < 16 && b[n]) n++;
    for (int j = 0; j <= n; j++) row[j] = j;
    for (int i = 0; i < 16 && a[i]; i++) {
        uint8_t diagonal = row[0]++;
        for (int j = 0; j < n; j++) {
            uint8_t above = row[j + 1];
            uint8_t best = min(min(above, row[j]) + 1, diagonal + (a[i] != b[j]));
            diagonal = above;
            row[j + 1] = best;
        }
    }
    distance[blockIdx.x * blockDim.x + threadIdx.x] = row[n];
}

// Intrinsics on bits.
extern "C" __global__ void bits(const uint32_t *a, const uint32_t *b, uint32_t *out) {
    int t = threadIdx.x;
    uint32_t x = a[t], y = b[t];
    uint32_t *o = out + t * 16;
    o[0] = __popc(x);
    o[1] = __clz(x);
    o[2] = __ffs(x);
    o[3] = __brev(x);
    o[4] = __byte_perm(x, y, 0x6240);
    o[5] = __funnelshift_l(x, y, y);
    o[6] = __funnelshift_rc(x, y, y & 63);
    o[7] = __umulhi(x, y);
    o[8] = __mulhi((int)x, (int)y);
    o[9] = __usad(x, y, 7);
    o[10] = __dp4a((int)x, (int)y, 5);
    o[11] = __vaddus4(x, y);
    o[12] = __vabsdiffu4(x, y);
    o[13] = __vmaxs2(x, y);
    o[14] = __uhadd(x, y);
    o[15] = __popcll((uint64_t)x << 20 | y) + __clzll(y) + __ffsll((uint64_t)x << 9);
}
