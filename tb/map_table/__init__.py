"""Bench of the tables of windows, ranges and commands."""
