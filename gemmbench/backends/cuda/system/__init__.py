"""The GPUs of this machine and their software.

probe    which GPUs there are, in milliseconds
driver   pycuda's driver interface, imported when it is needed
device   limits, clocks and versions of one GPU
nvml     how it is set up; power, temperature and clocks under load
checks   what `doctor` examines
peaks    the best it reaches
"""
