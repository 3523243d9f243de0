"""Bench of the window."""
