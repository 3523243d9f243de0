"""Bench of a channel."""
