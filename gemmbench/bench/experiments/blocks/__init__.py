"""What differs between the blocks in which a batch is timed.

rebound       an executable that is bound anew for every block
block_steps   places the operand sets, binds the trials, and checks them again
"""
