"""Configurations that a run compares: a file for each, and their list."""
