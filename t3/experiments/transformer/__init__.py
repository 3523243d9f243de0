"""Operators of a whole Transformer, their times, and what faster sublayers give end to end."""
