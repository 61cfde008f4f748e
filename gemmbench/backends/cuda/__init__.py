"""The NVIDIA back end: kernels through pycuda, cuBLAS through nvmath-python.

Importing this package or its modules does not import pycuda or nvmath.
"""
