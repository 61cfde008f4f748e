"""The kinds of charts: each makes a Chart of the rows of comparisons.

speed       GFLOPS, or percent of the baseline, over the size
heat_map    two parameters of a variant
roofline    speed over FLOP per byte, below the machine's limits
ladder      percent of the baseline, a bar for each rung
transfers   time of copies and kernel
selection   which rows a chart shows, and what it says about the others
series      the lines of a chart, one for each variant
labels      names that tell the series of several runs apart
tips        the text of tooltips
peaks       the machine's limits, arithmetic and memory: in theory, or as a run reached them
"""
