"""Bench of the tracker's front."""
