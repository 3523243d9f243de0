"""Sweeps: grids of simulations, their checkpoint and their table."""
