"""Threshold between SRAM macros and flip-flops."""

__all__ = ["MEMORY_ROWS"]

MEMORY_ROWS = 16
"""Least number of rows of an SRAM macro; a smaller memory is made of flip-flops."""
