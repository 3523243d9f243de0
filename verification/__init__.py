"""Evidence that the hardware is right: proofs, exhaustive arithmetic, mutants, coverage, faults."""
