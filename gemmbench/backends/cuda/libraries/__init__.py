"""cuBLAS and cuBLASLt.

variants   what both share: their variants, types and column-major terms
cublas     cuBLAS, which chooses its algorithm
cublaslt   cuBLASLt, one algorithm of its heuristic
fp8        what cuBLASLt asks for where A and B have 8 bits

math_choice         whether default or pedantic math is faster in f32
library_workspace   the workspace of a library
loaded              which versions are loaded
"""
