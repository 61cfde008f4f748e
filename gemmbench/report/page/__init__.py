"""The page of runs that `gemmbench report` writes: one HTML file that loads nothing.

page         the sections of the page, in order
shell        the frame of a page: its policy, styles and scripts; the digit page uses it too
html         elements, with all text escaped
headline     what ran, on what, and who is fastest
figures      the charts that the data allow
rows         the filters and the tables of each run
tables       tables that scripts sort and filter, and plain ones
failures     failed rows with their diagnosis, and what was skipped
differences  how a run differs from a reference run
environment  device, software, settings and command
theme.css, theme.js    colours, the light and the dark theme
report.css, report.js  layout, sorting, filtering, tooltips
"""
