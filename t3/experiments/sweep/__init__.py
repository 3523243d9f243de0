"""Grids of simulations: what a grid is, how its points are run, kept and put into a table."""
