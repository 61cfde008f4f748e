"""Which chains are measured, and together with which.

splitting   which chains share a batch, and which are measured again
shortlist   which configurations a short load ranks first, where there are too many to measure in full
"""
