"""What kernels read and write, on the host and on the device.

fill                 A, B and C on the host
network_parameters   the parameters of a network, and digits
layouts              what an operand set of a GEMM or a network consists of
scratch              the workspaces of a row
guards               the guard zones around its arrays
set_placement        where operand sets lie
arena                operand sets on a device
set_factors          the factors by which the sets differ
seal                 what of the sets must not change
cold_sets            how many sets keep launches cold
host_matrices        host memory that transfers copy from and to
"""
