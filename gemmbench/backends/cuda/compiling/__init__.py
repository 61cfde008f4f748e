"""From a plan to a cubin, without a GPU.

unit    what nvcc gets: the text and the options of a plan
kernel_names   the mangled names of kernels
nvcc    runs the compiler with a time limit, into the cache
ptxas   reads registers, spills and errors from what it prints
"""
