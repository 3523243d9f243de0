"""Compute side of a GPU: workgroups, their kernels, the L2."""
