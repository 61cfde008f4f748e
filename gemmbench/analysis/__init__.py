"""What NVIDIA's tools report about code, as text: parsed here, without opening a device.

occupancy    how many blocks a multiprocessor holds, and the limits of each architecture
sass/        the instructions of machine code, its loops and what they cost
ncu          hardware counters of one launch, from Nsight Compute
sanitizer    what compute-sanitizer finds
watcher      how a tool that watches this program is run
toolkit      where nvcc, cuobjdump and the other programs are
time_limit   a process that ends in time
"""
