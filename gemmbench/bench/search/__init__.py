"""The search for the fastest configuration of a kernel at one problem.

halving     which configurations go on to the next heat, and which are as good as the best
search      a search: short loads for what a strategy asks for, heats for the better ones, a final for the best
goals       what is searched for: the least time, energy, or time under a steady load
"""
