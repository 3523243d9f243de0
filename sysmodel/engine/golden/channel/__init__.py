"""Memory channel: its stages between queues, its arbiter, and its counters."""
