"""Tables laid out for a screen: what fits its width, and its lines.

fit     which columns a table shows at a width, and how wide they are
plain   the cells as lines of text
blocks  one block of `heading: value` per row, for tables that are too wide
lines   a line of a screen, and what it is
"""
