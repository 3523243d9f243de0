"""Bench of the issue acknowledgement queue."""
