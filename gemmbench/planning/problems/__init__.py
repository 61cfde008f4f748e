"""What is computed.

problem           a GEMM: M, N, K, layout, precision, alpha and beta
problem_grid      those of a sweep, each made when it is asked for
precision         the precisions, one record each
product_classes   how exactly a kernel multiplies two numbers
storage           element types: bits, C name, NumPy type
peak_rates        operations per multiprocessor and cycle, by compute capability
sizes             sizes as they are written
panels            C cut into bands of rows, for transfers that overlap
awkward           the problems that `verify` checks
"""
