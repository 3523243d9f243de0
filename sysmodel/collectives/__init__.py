"""Collectives as data: schedules of chunks, their checks, and the figures derived from them."""
