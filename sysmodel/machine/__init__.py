"""Simulated machine: state, cycle loop, and the programs that its driver writes."""
