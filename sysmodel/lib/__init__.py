"""What every part of the model uses: Numba helpers, caches, files, errors, progress."""
