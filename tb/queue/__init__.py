"""Bench of the queue."""
