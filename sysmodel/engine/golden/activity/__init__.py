"""Activity: the cycles in which the clock of each clock-gated block is enabled.

The modules of this package read the ports and the state of the blocks; no block reads theirs. A
clock is enabled in a cycle if a clock edge may change a register of its block. So a cycle without
any enabled clock changes no state, and the model may skip the next one if its inputs are the same.
"""
