"""Sweeps: everything that a run measures, from a config file and the command line.

sweep             a sweep: problems, variants, baseline, policy
policy            how to measure: data, cache, rounds, and when to stop
post              the table of a post that a sweep repeats
limits            how long a compilation, a launch and a sweep may take
overrides         what the command line changes
config_file       finds and reads config files
config_reader     checks every value and names its line
sweep_model       the keys of a config file
sweep_config      reads a sweep; sweep_problems and sweep_choices read its parts
planned_sweep     a sweep with its plans
parsing           parameters, precisions and layouts as they are written
"""
