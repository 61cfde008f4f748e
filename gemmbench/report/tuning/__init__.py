"""Searches as text.

searches   what each search found, and why its other candidates went
dispatch   the rows of a `pick`, and what they are worth
winners    the winners that are kept, as a table
"""
