// Programmatic launch, for kernels whose manifest says `pdl`: the next launch may begin once every block of this one
// has said so, or has ended. It is prepared while this one runs, and saves the gap between two launches: 1 to 2
// microseconds. A launch waits for the one before it to end before it reads or writes anything. Before compute
// capability 9.0, and on the CPU, launches do not overlap, and this does nothing.

#pragma once

__device__ inline void overlap_launches() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
    cudaGridDependencySynchronize();
#endif
}
