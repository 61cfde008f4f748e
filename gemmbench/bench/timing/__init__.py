"""How a time is measured, and what it is worth.

blocks      the windows of an executable, and what happens between blocks of rounds
rounds      times the executables of a batch in interleaved rounds
warm_up     runs executables until the device is steady
steadiness  whether the last observations of a device agree
stopping    the rule that ends the rounds
stats       medians, intervals, paired ratios, verdicts
telemetry   power, temperature and clocks while a batch is measured
energy      what a device draws, from the ticks of its energy counter
"""
