"""The NVIDIA back end: kernels through pycuda, cuBLAS through nvmath-python.

Importing this package or any module of it imports neither pycuda nor nvmath.
"""
