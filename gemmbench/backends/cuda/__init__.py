"""The NVIDIA back end: kernels through pycuda, cuBLAS through nvmath-python.

    probe      is there a GPU, and why not         neither pycuda nor a context
    device     its limits, clocks and versions     pycuda, no context
    nvcc       plans to cubins, PTX, SASS          neither GPU nor pycuda
    occupancy  blocks an SM can hold               arithmetic
    backend    the open device; beside it gate, window, clock, memory, kernel, failure
    cublas, cublaslt                               the library variants

Importing this package or any module of it imports neither pycuda nor nvmath.
"""
