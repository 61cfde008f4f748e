"""From a cubin to a time.

cubin_module     loads a cubin as pycuda's SourceModule
arguments        the arguments of a kernel as numbers
kernel           binds a loaded plan to its operands
tensor_maps      the arrays that TMA copies
packed_launch    queues one launch with the least host time
bindings_launch  the same through cuda.bindings, for a launch that may overlap or has clusters
graphs           several launches as one
window           times launches that run back to back
back_to_back     windows without a pause between them
gate             holds the stream until all launches are queued
clock            the SM clock while they ran
"""
