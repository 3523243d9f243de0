"""Bench of a tracker bank under clears, in a small geometry."""
