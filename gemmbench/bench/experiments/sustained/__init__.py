"""Each kernel alone under a steady load, compared with the baseline in blocks.

Interleaved short windows measure at equal clocks: a kernel that is 3 % faster and draws 12 % more
power is 3 % faster in them, but 1 % slower under a steady load at the power limit.

load_sensors    reads the sensors of a device while it works
measure_load    one block: settle, then count
loaded_trials   the loads of a batch, each audited after its own
blocks          the order of the blocks: kernel, baseline, baseline, kernel
"""
