"""Which memories become macros."""

__all__ = ["MEMORY_ROWS"]

MEMORY_ROWS = 16
"""A memory of so many rows or more is an SRAM macro, one of fewer is made of flip-flops."""
