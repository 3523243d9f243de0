"""The configurations that are compared: a file for each, and the registry."""
