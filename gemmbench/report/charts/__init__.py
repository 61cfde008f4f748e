"""Charts of runs: a small model of what is drawn, the kinds that fill it, and two renderers.

draw        the kinds by name, and draw_chart: from comparisons and choices to a Chart
model       a Chart: line plot, bars or heat map, with axes, marks and the text of their tooltips
choices     what a user may choose: size, variants, parameters, percent
selection   which rows a chart shows, and what it says about the others
labels      names that tell the series of several runs apart
scale       axes: ticks at round numbers, and numbers with separators
styles      which color, marker and dash pattern a series has
tips        the text of tooltips
peaks       the arithmetic peak at the measured clock
speed       GFLOPS, or percent of the baseline, over the size
svg/        a Chart as SVG, for files, documents and pages
"""
