"""What came out of a run: read, compared with the baseline, and shown.

store/             the results file: a journal of JSON lines, and how it is read
row                one record with everything that follows from it
percent_of_baseline  a row's speed in percent of the baseline's
comparison         all rows of a run, computed once and handed to every output
transfer_rows      the same for whole jobs with their copies
roofline           the bounds of a row, and impossible times
launch_occupancy   how a launch fills the device
flags              letters on rows that deserve a second look
verdicts           which of two variants is faster
columns/           every column of tables and exports, declared once
tables/            tables, their notes and their footer
differences/       two runs compared, and the gate that judges the difference
page/              the HTML page of runs
posts/             a post's table, published and measured here
explanation/       one row in sentences, and the command that measures it again
tuning/            searches and their winners as text, and the models of the file of winners
charts/            charts of runs, as SVG
diagnostics/       what verify, inspect, profile, doctor, cache and --dry-run print
table              tables and reports, as text in tabulate's formats or for a screen
layout/            which columns fit a screen, and the lines it shows
terminal           reports in color
text               numbers as text
escaping           control characters made visible
export             CSV, JSON and Markdown files
"""
