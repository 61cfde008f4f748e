"""Where plans run: the back ends, and what they have in common.

A new back end is one package with the modules `entry` and `services`, and a name in the registry.
"""
