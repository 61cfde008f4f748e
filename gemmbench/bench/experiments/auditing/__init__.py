"""The audit: what is timed is what is checked.

audit          runs timed executables again on changed operands and judges every row
turns          the turns of one executable over the operand sets
audit_case     what the results must be then; a turn over the sets that failed
gemm_case      the case of a GEMM
network_case   the case of a network
explanation    why a result is wrong after timing, in words
"""
