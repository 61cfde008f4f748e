"""Whole jobs: operands to the device, kernel, result back.

tasks        which kernels' jobs are measured, and their panels
job_steps    the copies and launches of a job, by stream
batch        the tasks of one problem
modes        one job in four modes: checked and timed
experiment   the experiment on a batch of tasks
"""
