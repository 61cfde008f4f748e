"""Bytes on the GPU.

device_memory   allocations, copies
array_kernels   compares and scales arrays on the GPU
transfer_jobs   copies and launches on several streams
"""
