"""Collectives as data: schedules of chunks, their checks, and what is derived from them."""
