// Multiply-adds of a thread's tile of sums in an order that ptxas keeps, and helper functions for the main loop of
// sgemm_tma and sgemm_splitk; sgemm_tma explains the order.

#pragma once

constexpr int TM = 8, TN = 16;           // results of a thread
constexpr int WM = 8 * TM, WN = 4 * TN;  // of a warp

// The first lane arrives for its warp. It uses a predicate so that no branch splits the main loop.
__device__ inline void arrive_once(unsigned barrier, int lane) {
    asm volatile("{ .reg .pred p; setp.eq.s32 p, %1, 0; @p mbarrier.arrive.shared::cta.b64 _, [%0]; }" ::"r"(barrier),
                 "r"(lane)
                 : "memory");
}

__device__ inline void load4(float* to, unsigned from) {
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3])
                 : "r"(from));
}

// Volatile, so that multiply-adds keep their source order.
__device__ inline void multiply_add(float& sum, float a, float b) {
    asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum) : "f"(a), "f"(b));
}

// A conditional exit that is never taken, since M >= 0. ptxas moves no code across it, and after scheduling it removes
// all but one per iteration.
__device__ inline void fence(int M) {
    asm volatile("{ .reg .pred never; setp.lt.s32 never, %0, 0; @never exit; }" ::"r"(M) : "memory");
}

// A value whose origin ptxas cannot see, so it stays in a register instead of being recomputed in every iteration.
__device__ inline unsigned opaque(unsigned value, int lane) { return __shfl_sync(0xffffffffu, value, lane); }

// The column visited at step `step` in row i of a thread's tile, for a given k. It goes back and forth, and the two
// columns at the turn are in the order that suits the bank of the row's register: a[k] and a[k + 1] lie in different
// banks.
__device__ constexpr int column(int i, int k, int step) {
    const int j = i % 2 ? TN - 1 - step : step;
    if (k % 2 == 0) return j >= TN - 2 ? 2 * TN - 3 - j : j;
    return j < 2 ? 1 - j : j;
}

// Volatile, so the result gets separate registers. Otherwise ptxas may group the sums themselves in fours for the
// store, in the bank of b. In layout tn with BN=256, half of the FFMA in the main loop would then read a bank twice.
__device__ inline float4 scaled(float alpha, const float* sum) {
    float v[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) asm volatile("mul.rn.f32 %0, %1, %2;" : "=f"(v[j]) : "f"(alpha), "f"(sum[j]));
    return make_float4(v[0], v[1], v[2], v[3]);
}
