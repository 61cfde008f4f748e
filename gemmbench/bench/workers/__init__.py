"""Workers, which run batches: this process, a separate process that can be replaced, or workers of a Dask cluster.

On a cluster, each batch is a task, so ratios never mix cards. The client plans, keeps the journal and shows progress.
It needs no device. Each worker opens its own device, compiles on its own host and makes its own operands.
"""
