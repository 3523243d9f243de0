"""Bench of the status of a peer."""
