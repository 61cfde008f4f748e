// Programmatic launch, for kernels whose manifest says `pdl`: the next launch may begin once every block of this one
// has said so, or has ended. It is prepared while this one runs, and saves the gap between two launches: 1 to 2
// microseconds. A launch waits for the one before it to end before it reads or writes anything. Its blocks take the
// places that are free, on SMs that others have left: two may have to share an SM while another has none. So a launch
// says so after its main loop, and only if each SM has as many blocks as it has room for, and cannot get more. If the
// main loop is short, what is saved counts more: then it says so at once. Below compute capability 9.0, and on the
// CPU, launches do not overlap, and this does nothing.

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
