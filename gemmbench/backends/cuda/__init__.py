"""The NVIDIA back end: kernels through pycuda, cuBLAS through nvmath-python.

Importing this package or any of its modules imports neither pycuda nor nvmath.
"""
