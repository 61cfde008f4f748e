"""Bytes on the GPU.

device_memory   allocations, copies
equality        compares two ranges on the GPU
transfer_jobs   copies and launches on several streams
"""
