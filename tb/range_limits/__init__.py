"""Bench of the range limits."""
