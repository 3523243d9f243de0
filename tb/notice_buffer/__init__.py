"""Bench of the buffer of notices."""
