"""cuBLAS and cuBLASLt.

variants   what both share: their variants, types and column-major terms
cublas     cuBLAS, which chooses its algorithm
cublaslt   cuBLASLt, one algorithm of its heuristic
"""
