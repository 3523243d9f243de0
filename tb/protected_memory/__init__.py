"""Bench of the memory with check bits."""
