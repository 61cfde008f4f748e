"""Reads preprocessed C++: its declarations, its kernels, and the parts of the text that a kernel needs."""
