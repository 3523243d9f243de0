"""Runs: the plan, its simulation in several configurations, and the result."""
