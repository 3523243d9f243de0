"""Bench of the credit window."""
