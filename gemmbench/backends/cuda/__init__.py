"""The NVIDIA back end: kernels through pycuda, cuBLAS through nvmath-python.

    probe      is there a GPU, and why not         neither pycuda nor a context
    device     its limits, clocks and versions     pycuda, no context
    nvcc       plans to cubins, PTX, SASS          neither GPU nor pycuda; ptxas reads what it prints
    occupancy  blocks an SM can hold               arithmetic
    backend    the open device                     memory, kernel, launch; failure words its errors
    window     launches timed together             gate holds them back, clock sees the SM clock
    pipeline   jobs: copies and launches           several streams, host memory pinned or not
    chain      several launches as one             queued in turn, or as a CUDA graph
    library    the variants cublas and cublaslt    one module each

Importing this package or any module of it imports neither pycuda nor nvmath.
"""
