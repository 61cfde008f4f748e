"""What to compute and how to measure it. Opens no device.

problems/     what is computed: sizes, precisions, storage types, panels
manifests/    how it is computed: kernel files and their manifests, the catalog of variants
plans/        a problem, a variant and a configuration, ready to compile; or the reason why not
sweeps/       config files and the command line's changes: everything that a run measures
tuning/       which configurations of a large space to try next
networks/     multi-layer perceptrons, and the rows that compute them
drafts/       manifests for files that others wrote: what the code says, and marked guesses
schema        JSON schemas of manifests and configs
yaml_document YAML with line numbers
bounds        how many plans, configurations and digits are allowed
quantities    numbers with the range that they have in a results file
text_file     reads a kernel or a config; refuses devices, FIFOs and huge files
paths         where cuda/ and configs/ are
"""
