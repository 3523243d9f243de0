"""Trigger: each context's trigger unit, credit window and criticality unit."""
