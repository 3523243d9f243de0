"""Runs: the configurations that are compared, and what a run gives."""
