"""
summary: does not return from its first call
order: 8
precisions: [f32]
layouts: [nn]
packages: [torch]
"""

import time


def gemm(problem, A, B, C, stream):
    time.sleep(3600)
