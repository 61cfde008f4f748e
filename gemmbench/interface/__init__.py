"""The Python interface behind `import gemmbench`: the sessions of the commands with Python types.

functions   run, compare, verify, load
tuning      tune, and what it returns
results     what they return: records, tables, data frames
arguments   Python arguments as the options of a sweep
options     the keyword arguments that the functions share
progress    progress bars in a terminal or a notebook, messages in the log
"""
