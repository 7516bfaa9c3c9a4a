"""The numbers that kwsync promises, measured: ``python -m tests.bench`` prints them (``--help`` tells the options).

Everything happens on loopback, with the server in a process of its own. What is compared with something else is
measured in turns with it, in one run, and given as a ratio; so only ratios may be compared between machines.
"""
