"""Tracker: detects complete wavefront tiles."""
