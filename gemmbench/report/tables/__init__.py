"""The tables of a run's results and of the runs of a folder, as reports that any output can show.

results     all reports of a run
kernels     the tables of GEMMs and networks: which rows they show, and the notes below them
transfers   the tables of transfers
fastest     who is fastest at each problem, in one line
run_list    the runs of a folder
footer      the lines below the tables of kernels: how the numbers were measured, and on what
"""
