"""The back ends that run plans, and the code that they share.

To add a back end, add a package with the modules `entry` and `services`, and list its name in the registry.
"""
