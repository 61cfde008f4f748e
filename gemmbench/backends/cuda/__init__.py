"""The NVIDIA back end: kernels through pycuda, cuBLAS through nvmath-python.

    entry        its record in the registry; services does the work
    backend      the open GPU
    failure      errors of CUDA as errors of gemmbench
    compiling/   plans to cubins, PTX and SASS; needs neither GPU nor pycuda
    launching/   loading, binding and timing of kernels
    libraries/   the variants cublas and cublaslt
    functions/   Python functions that launch
    memory/      bytes on the GPU, and jobs that copy to and from it
    system/      which GPUs there are, their limits, clocks, sensors and peaks

Importing this package or any module of it imports neither pycuda nor nvmath.
"""
