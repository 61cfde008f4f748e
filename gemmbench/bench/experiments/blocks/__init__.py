"""Timing in blocks, between which everything changes that a repetition would change.

rebound       an executable that is bound anew for every block
block_steps   places the operand sets, binds the trials, and audits them
timed_trials  all trials in the same rounds; finds the one that writes over operands
"""
