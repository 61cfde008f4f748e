"""Commands on many devices.

machines  the machines of a run: this one, or the kinds of cards of a cluster
health    what doctor says about each worker
"""
