"""Bench of the trigger unit."""
