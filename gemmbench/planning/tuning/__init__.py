"""Which configurations of a large space to try next. Opens no device.

space         the configurations that a manifest allows, and where each lies on its axes
strategy      the strategies by name, and what each of them does
exhaustive    every configuration, in the order of the manifest
random_order  every configuration, in a seeded order
pick_rows     the row of a `pick` that computes a problem, and what serves each row best
budget        how long a search may take, or how many configurations it may try
model         first the configurations that a model of earlier results expects to be fast
"""
