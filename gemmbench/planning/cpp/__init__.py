"""Reads C++ that a compiler has preprocessed: its declarations, its kernels, and what a kernel needs of the text."""
