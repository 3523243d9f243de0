"""Simulation of patterns and traces on one channel of a memory."""
