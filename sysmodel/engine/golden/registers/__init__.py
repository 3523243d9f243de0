"""Registers: the bus port, the tables, launches, errors and interrupts, and the blocks around
them."""
