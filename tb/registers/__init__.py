"""Bench of the register port."""
