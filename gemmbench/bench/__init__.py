"""The experiment: compile, verify, measure, record.

runner         hands batches to a worker and records on
sweep          a sweep measured: compiled, run in batches, the best measured again
build          compiles plans ahead, on all cores
record         the rows of a results file
environment    the header of a run
estimate       how long a sweep may take
memory_account whether the rows of a batch fit on a device together
batch_costs    what a batch costs on a kind of device
host_probe     how fast the host is now

operands/      what kernels read and write
verify/        whether a result is right, and why not
timing/        rounds, statistics, telemetry, energy
experiments/   what to do with one batch
tuning/        the search for the best configuration
worker/        whatever runs batches
"""
