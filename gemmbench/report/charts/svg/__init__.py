"""A Chart as one self-contained <svg> element: with its styles, and titles on all marks.

render      the frame: title, subtitle, notes, description, and the plot within
canvas      elements with rounded coordinates, and the text of tooltips
theme       the style sheet: colors, light and dark, as variables that a page can set
markers     the shapes of points
bars        horizontal bars
cells       heat maps
lines       line plots: axes, limits, series with intervals, labels at their ends
"""
