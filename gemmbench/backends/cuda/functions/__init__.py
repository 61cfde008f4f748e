"""Python functions that launch a GEMM on a stream: Triton, PyTorch, CuPy, Numba.

arguments    what a function gets: the problem, and arrays on the device
dlpack       arrays as DLPack capsules
module       loads the module of a variant, and explains what it raises
streams      makes a stream current for PyTorch and CuPy, and their memory private while a graph is recorded
function     a loaded function, bound to operand sets
examination  its first calls: compilation, stream, leaks, graphs
memory_watch tells a leak from a cache by the free memory
timer        times a function on a stream of its own
"""
