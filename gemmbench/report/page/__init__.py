"""The page of runs that `gemmbench report` writes: one HTML file that loads nothing.

page         the sections of the page, in order
shell        the frame of a page: its policy, styles and scripts; the digit page uses it too
html         elements, with all text escaped
headline     what ran, on what, and who is fastest
rows         the filters and the tables of each run
tables       tables that scripts sort and filter, and plain ones
failures     failed rows with their diagnosis, and what was skipped
environment  device, software, settings and command
theme.css, theme.js    colours, the light and the dark theme
report.css, report.js  layout, sorting, filtering, tooltips
"""
