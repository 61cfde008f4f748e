"""Where a variant's code is, how it is compiled and how it is called.

model         code, call and arguments, as a variant has them
compilation   the keys `file`, `define`, `include`, `flags` and `maxregcount`
python_module the docstring and the function of a .py file
packages      what Python functions need
arguments     the key `args`
symbols       kernels that a text defines, and template arguments
"""
