// The keywords of CUDA C++. Included last before a kernel's text, because the standard headers use
// some of these words themselves.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __forceinline__ __attribute__((always_inline))  // may stand next to `inline`
#define __noinline__ __attribute__((noinline))
#define __builtin_assume(condition) ((condition) ? void() : __builtin_unreachable())

// A worker process runs one block at a time, so its static storage is the block's shared memory,
// which shared.ld collects. It is aligned for vector access, since nvcc happens to place most
// arrays that way, and marked `used`, because the compiler would otherwise assume zeros where the
// kernel itself never writes.
#define __shared__ static __attribute__((aligned(16), used))

// CUDA accepts an alignment after `__shared__`, where C++ does not allow the keyword.
#define __align__(n) __attribute__((aligned(n)))
#define alignas(n) __attribute__((aligned(n)))
