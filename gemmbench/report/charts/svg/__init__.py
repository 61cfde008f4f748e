"""A Chart as one self-contained <svg> element: with its styles, and titles on all marks.

render      the frame: title, subtitle, notes, description, and the plot within
canvas      elements with rounded coordinates, and the text of tooltips
theme       colors, light and dark, as a style sheet whose variables a page can set
text_width  how wide a text is about, and labels moved apart
markers     the shapes of points
lines       line plots: axes, limits, series with intervals, labels at their ends
"""
