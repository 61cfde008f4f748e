"""The columns of tables and exports, each declared once: CSV key, meaning, value, heading and cell.

column      what a column is, and how a list of them becomes the rows of an export or a table
all_columns every column of kernel rows: the CSV in its order, and which of them a table shows
identity    which run, device, kernel, configuration and problem a row has; shared with transfers
gemm        times, speeds and how they were measured
network     the columns of rows of `gemmbench mlp`
details     launch, bounds and telemetry: what --wide shows
sustained   speed, power and energy under a steady load
transfers   the rows of transfers
"""
