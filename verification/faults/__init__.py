"""Faults put into running hardware, and what becomes of each of them."""
