"""Bench of the link endpoint."""
