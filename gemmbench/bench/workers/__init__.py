"""Whatever runs a batch: this process, a separate one that can be replaced, or the workers of a Dask cluster.

On a cluster a batch is a task, so ratios never mix cards. The client plans, keeps the journal and shows progress;
it needs no device. Each worker opens its own device, compiles on its own host and makes its own operands.
"""
