"""Activity: the cycles in which the clock of each clock-gated block is enabled.

The modules of this package read the ports and the state of the blocks; no block reads the state of
this package. A clock is enabled in a cycle if a clock edge may change a register of its block. A
cycle without any enabled clock therefore changes no state, and the model may skip the next cycle if
its inputs are the same.
"""
