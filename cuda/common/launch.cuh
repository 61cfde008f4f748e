// Programmatic launch, for kernels whose manifest says `pdl`: the next launch may begin once every block of this one
// has allowed it or ended. It is prepared while this one runs, which saves the gap between two launches: 1 to 2
// microseconds. A launch waits for the one before it to end before it reads or writes anything. But its blocks already
// occupy free slots, so two of them may have to share an SM while another SM has none. A long-running kernel therefore
// allows it late, or not at all if it leaves SMs free. A short kernel allows it at once, because the gap matters more
// there. Below compute capability 9.0, and on the CPU, launches do not overlap, and this does nothing.

#pragma once

__device__ inline void start_next_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

__device__ inline void await_launch_before() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}
