"""Bench of the top, and the host and the traffic around it."""
