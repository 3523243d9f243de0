"""Drivers of the T3 hardware: in Python and in C99, with the same calls."""
