"""What to do with one batch.

batch               ChainBatch, its key, and what every kind of batch has
context             the open back ends and the line to the runner
experiment          the experiment on a batch of chains: GEMMs and networks
device_experiment   the same on one device: load, verify, measure
setup               what the rows of a batch share on a device, and how one is bound
workload            what an experiment must know of what its rows compute
gemm, network       a GEMM and a network as workloads
trial               one row on its way through an experiment
trial_record        from a trial to its record
verification        every trial judged before anything is timed
auditing/           the audit of what was timed
blocks/             timing in blocks, between which everything changes
one_launch          one launch for a profiler
noise               a kernel against itself
sustained/          each kernel alone under a steady load
selection/          which chains share a batch, which are measured in full, which again
transfers/          whole jobs, copies included
"""
