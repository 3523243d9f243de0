"""The command ``t3``."""
