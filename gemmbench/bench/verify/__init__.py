"""Whether a result is right, and if not, why.

reference          what a GEMM's result must be, exactly and within rounding; Check
wrong_result       a wrong result with everything it was computed from
diagnosis          the most likely cause, in words
hypotheses         well-known mistakes, recomputed and compared
wrong_region       where a result is wrong; a map of C
special_values     NaN, infinities, subnormals and values near overflow
single_products    the class of a kernel's products
relaunch           causes that only further launches show: races, kept state, reads of C
network_reference  what a network must compute, with a bound on rounding
network_cases      the inputs a network is verified and timed on
"""
