"""Fault injection: faults put into running hardware, with a verdict on each."""
