"""Functions of ``import t3``: thin wrappers around the packages that do the work."""
