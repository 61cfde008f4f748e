"""Many devices: batches as tasks of a Dask cluster.

A batch is a task, so ratios never mix cards. The client plans, keeps the journal and shows progress; it needs
no device. Each worker opens its own device, compiles on its own host and makes its own operands.

address        what `--fleet` names: this host, or a scheduler
local_workers  a scheduler and one worker per card on this host
connection     Connection: tasks, workers and lost schedulers, as Dask has them
machine        FleetMachine: like cards of a cluster, as one machine to plan for
carried        the files and versions that go along with a plan
tasks          what a Dask worker runs: describe itself, compile a plan, run a batch
compiler       FleetCompiler: compiles on every host
worker         FleetWorker: several batches in flight, tried again elsewhere, kernels blamed
runner         FleetRunner: a Runner that keeps every card at work
"""
