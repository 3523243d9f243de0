"""Bench of the tables of regions, ranges and commands."""
