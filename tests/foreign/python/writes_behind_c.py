"""
summary: writes behind the end of C
order: 11
precisions: [f32]
layouts: [nn]
packages: [torch]
"""

import torch


class Longer:
    """C and 64 elements behind it."""

    def __init__(self, C):
        rows, columns = C.shape
        self.__cuda_array_interface__ = {**C.__cuda_array_interface__, "shape": (rows * columns + 64,)}


def gemm(problem, A, B, C, stream):
    a, b, c = map(torch.from_dlpack, (A, B, C))
    c.addmm_(a, b, alpha=problem.alpha, beta=problem.beta)
    torch.as_tensor(Longer(C), device="cuda")[problem.M * problem.N :].zero_()
