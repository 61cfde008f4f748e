"""SASS, the machine code of NVIDIA GPUs.

instructions   cuobjdump's text as instructions, registers and classes
loop           the loops of a kernel, and the one where a GEMM spends its time
facts          what the instructions of a loop cost, and the speed that follows
limits         whether a loop keeps what its manifest demands under `sass`
"""
