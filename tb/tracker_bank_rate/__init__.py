"""Bench of a tracker bank."""
