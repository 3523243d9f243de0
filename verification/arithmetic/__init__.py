"""The reduce unit's arithmetic against NumPy and ml_dtypes: all pairs of 16 bit, many of 32."""
