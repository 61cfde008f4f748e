"""A post's table, published and measured here, row by row.

find_post  the post that a run repeats
lines      which measured row repeats each row of a post
table      the tables of a run that repeats a post: the post's columns, then ours
story      what `gemmbench posts` prints: published next to measured, with the speed-ups
"""
