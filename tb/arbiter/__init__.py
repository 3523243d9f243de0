"""Bench of the arbiter."""
