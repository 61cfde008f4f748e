"""Launchers: host functions in CUDA code that launch their kernels themselves.

source     the text that nvcc gets: the code, and a function through which it is called
library    the shared library, loaded with ctypes
launcher   a loaded launcher, bound to operands
rules      what a launch may do in a timed window, found by recording it
"""
