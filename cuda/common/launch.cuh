// Programmatic launch, for kernels whose manifest says `pdl`: the next launch may begin once every block of this one
// has said so, or has ended. It is prepared while this one runs, and saves the gap between two launches: 1 to 2
// microseconds. A launch waits for the one before it to end before it reads or writes anything. But its blocks already
// take the places that are free: two may have to share an SM while another has none. So a kernel that computes for long
// says so late, or never if it leaves places free. One that is done soon says so at once: there the gap counts more.
// Below compute capability 9.0, and on the CPU, launches do not overlap, and this does nothing.

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
