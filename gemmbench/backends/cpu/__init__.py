"""The CPU as a device: it runs the text of a `.cu` file as it is, on machines without a GPU.

entry      its record in the registry; services does the work
support    which kernels can run here; read by the planner
device     what this machine is
compiler   kernel text + prelude/ + the C++ compiler -> an executable
prelude/   the words of CUDA C++, and the executor: a coroutine for each CUDA thread
process    one running executable, and what its death means; executable_file: what its file says
memory     operands that this process and a kernel's process share
backend    the open device
library    the library variant as it is listed; openblas runs it: NumPy's matrix product
software   versions of the compiler and the libraries
checks     what `doctor` examines
"""
