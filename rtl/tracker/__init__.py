"""The tracker: which wavefront tiles are complete."""
