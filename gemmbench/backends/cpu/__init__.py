"""The CPU as a device: it runs the very text of a `.cu` file, where there is no GPU.

support     which kernels can run here; read by the planner
device      what this machine is
compiler    kernel text + prelude/ + the C++ compiler -> an executable
prelude/    the words of CUDA C++, and the executor: a coroutine for each CUDA thread
process     one running executable, and what its death means
memory      operands that this process and a kernel's see
backend     the device, open
library     the library variant, as it is listed
openblas    the library variant, as it runs: NumPy's matrix product
"""
