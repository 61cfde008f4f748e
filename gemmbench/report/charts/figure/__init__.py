"""A Chart as PNG or PDF, through matplotlib, which is optional and only imported to write one.

render      the frame: title, subtitle, notes, and the file
page        a figure in the pixels of the SVG
lines       line plots
bars        horizontal bars
cells       heat maps
"""
