"""Bench of the buffer of issue acknowledgements."""
