"""The cache of compiled code: what has the same inputs is compiled once.

artifacts   finds an artifact by its key, verifies its checksum, and builds what is missing or damaged
header_lists  which headers a text reads, and the key of its code with what is in them
folder      where the cache is, and whether others could have written to it
usage       which processes use the cache now: what one has touched is not pruned before it ends
pruning     what the cache holds; deletes what was used least recently, and what killed runs left behind
"""
