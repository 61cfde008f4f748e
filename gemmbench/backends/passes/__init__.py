"""Passes over a finished C, for what a GEMM cannot do itself: add a bias, apply an activation.

kernels   reads them; activation.cu and softmax.cu are their texts
"""
