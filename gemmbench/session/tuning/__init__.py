"""Tuning: searches, and the winners that are kept.

tune      a search for each variant at each problem
winners   the file of winners, and sweeps that use them
"""
