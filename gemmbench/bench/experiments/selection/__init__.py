"""Which chains are measured, and together with which.

splitting   which chains share a batch, and which are measured again
hopeless    which rows are not tried, because their configuration timed out or did not compile
shortlist   which configurations a short load ranks first, where there are too many to measure in full
"""
