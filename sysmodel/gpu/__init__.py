"""Compute side of a GPU: workgroups, their kernels, and the L2."""
