"""Bench of the fair choices between streams."""
