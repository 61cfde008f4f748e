// The keywords of CUDA C++. Included last before a kernel's text: the standard headers use
// some of these words in their own way.
#pragma once

#define __global__
#define __device__
#define __host__
#define __constant__
#define __grid_constant__
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __builtin_assume(condition) ((condition) ? void() : __builtin_unreachable())

// A worker process runs one block at a time, so its static storage is the block's shared memory;
// shared.ld gathers it. Aligned for vector access, as nvcc happens to place most arrays; `used`, or
// the compiler would take what the kernel itself never writes for zeros.
#define __shared__ static __attribute__((aligned(16), used))

// CUDA takes an alignment after `__shared__`, where C++ has no place for the keyword.
#define __align__(n) __attribute__((aligned(n)))
#define alignas(n) __attribute__((aligned(n)))
