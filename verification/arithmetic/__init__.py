"""Arithmetic of the reduce unit against NumPy and ml_dtypes: all 16-bit pairs, many 32-bit ones."""
