"""Where a variant's code is, how it is compiled and how it is called.

model         code, call and arguments, as a variant has them
compilation   the keys `file`, `define`, `include`, `flags` and `maxregcount`
arguments     the key `args`
symbols       kernels that a text defines, and template arguments
"""
