"""
summary: imports a package that there is not, without declaring it
order: 15
precisions: [f32]
layouts: [nn]
packages: [torch]
"""

import no_such_package


def gemm(problem, A, B, C, stream):
    no_such_package.gemm(A, B, C)
