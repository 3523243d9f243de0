"""The register port: one map of registers, and what it programs."""
