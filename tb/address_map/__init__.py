"""Bench of the address map."""
