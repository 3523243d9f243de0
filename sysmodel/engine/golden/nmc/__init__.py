"""Near-memory compute: the arithmetic of op-and-store, and the unit's pipeline."""
