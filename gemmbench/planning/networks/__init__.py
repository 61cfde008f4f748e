"""Networks: multi-layer perceptrons, and the rows that compute them.

network          layers, activations, and where the parameters are
network_config   reads a network and its rows from a config file
network_chains   the steps that each row launches
"""
