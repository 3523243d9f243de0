"""Bench of the notice queue."""
