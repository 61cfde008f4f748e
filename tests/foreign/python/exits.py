"""
summary: ends the process
order: 7
precisions: [f32]
layouts: [nn]
packages: [torch]
"""

import os


def gemm(problem, A, B, C, stream):
    os._exit(3)
