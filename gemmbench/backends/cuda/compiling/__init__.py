"""From a plan to a cubin, without a GPU.

nvcc    runs the compiler with a time limit, into the cache
ptxas   reads registers, spills and errors from what it prints
"""
