"""Charts of runs: a small model of what is drawn, the kinds that fill it, and a renderer.

draw        the kinds by name, and draw_chart: from comparisons and choices to a Chart
choices     what a user may choose: size, variants, parameters, percent
model       a Chart: line plot, bars or heat map, with axes, marks and the text of their tooltips
kinds/      speed, heat-map, roofline, ladder, transfers
scale       axes, with ticks at round numbers
numbers     numbers with separators, and the digits that their intervals support
styles      which color, marker and dash pattern a series has
palette     the colors, light and dark
layout      where things are placed: widths of text, labels moved apart
svg/        a Chart as SVG, for files, documents and pages
write       a Chart as a file
"""
