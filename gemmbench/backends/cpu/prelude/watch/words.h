// On top of ../words.h, for a kernel that is watched.
#pragma once

// Each array begins at a multiple of 64 KiB, and watch.ld keeps the memory around it free, so a miss hits nothing
// else.
#undef __shared__
#define __shared__ static __attribute__((aligned(65536), used))

// As with nvcc, all calls are inlined, so that each call has its own addresses. Also, a result of several words that
// a call returns would be stored without a hook.
#undef __global__
#define __global__ __attribute__((flatten))
#undef __noinline__
#define __noinline__

namespace gb {
extern int last_return;  // line of the last `return;` that the running thread has executed, if it has done nothing
                         // since
}
