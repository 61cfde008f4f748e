"""
summary: requires a package that there is not
order: 14
precisions: [f32]
layouts: [nn]
packages: [no_such_package]
"""

import no_such_package


def gemm(problem, A, B, C, stream):
    no_such_package.gemm(A, B, C)
