"""Helpers of all parts of the model: Numba, caches, files, errors, progress."""
