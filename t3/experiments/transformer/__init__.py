"""Operators of a whole Transformer, their times, and the end-to-end gain of faster sublayers."""
