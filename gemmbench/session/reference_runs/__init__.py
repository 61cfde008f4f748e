"""Runs that are kept and compared with: what --save, --against, show and check do.

saved_runs        runs stored under a name
find_run          a results file from its path, its saved name or its id
run_list          the runs of a folder
repeated_sweep    the sweep that measures the rows of a run again
revision_pairs    kernels paired with those of a git revision
check             the gate: measure again and judge
"""
