"""Tuning: the search for the fastest configuration of a variant at a problem.

task        what one search is about: its candidates and the problems they are checked on
batches     candidates in batches: checked, timed in short rounds, measured in full
standings   how candidates compare after the short rounds, and which are clearly slower
screening   the first rounds: asks the strategy, compiles ahead, checks, times
contenders  those that are left: longer rounds, and the finals
search      a whole search, from the first rounds to the finals
dispatch_table  what the rows of a `pick` should name
outcome     what a search found: the winner, its ties, and why the others went
"""
