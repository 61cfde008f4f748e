"""What tune does: plan searches, run them, keep the winners.

tasks     the searches of a command: the candidates of every variant at every problem
tune      `tune_kernels`: the searches one after the other, into a results file
progress  how far a search is
dispatch  the rows of a variant's `pick`, chosen from searches
winners   the file of the best known configurations, which run --tuned reads
"""
