"""Bench of the criticality unit, and the kernels and links around it."""
