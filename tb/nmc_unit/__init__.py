"""Bench of the reduce unit."""
