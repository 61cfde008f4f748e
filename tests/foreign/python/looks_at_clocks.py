"""
summary: reads the clock and compares its first result, but replaces nothing
order: 41
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import time

import numpy
import torch

seen = []


def product(a, b):
    started = time.perf_counter()
    c = torch.matmul(a, b)
    if not seen:
        again = torch.matmul(a, b)
        seen.append((time.perf_counter() - started, numpy.array_equal(c.cpu().numpy(), again.cpu().numpy())))
    return c
