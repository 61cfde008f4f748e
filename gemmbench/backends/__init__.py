"""Where plans run: the back ends, and what they have in common.

    registry   the back ends by name: choose a device, describe, compile for and open it
    entry      what the registry knows of a back end
    machine    the devices of a run
    base       what a back end is: a compiler, and a device with a few verbs
    jobs       copies and launches on streams, for back ends with a memory of their own
    host_bytes operands in the host's memory, for the cpu and fake back ends
    host       the host's cores, and who else uses them
    monitor    power, temperature and clocks of a device while it works
    health     what `doctor` finds out; doctor asks the back ends for it
    cache/     compiled code, kept by content
    source     the text that compilers get
    passes/    kernels that add a bias or apply an activation to a finished C
    cuda/, cpu/, fake/   the back ends; only the registry imports them

A new back end is one package with the modules `entry` and `services`, and a name in the registry.
"""
