"""New kernels: a working one to start from, or a manifest for a file that somebody else wrote.

new_kernel   writes the files
tiled.cu     the kernel to start from
"""
