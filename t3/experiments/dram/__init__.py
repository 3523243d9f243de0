"""Patterns and traces on one channel of a memory."""
