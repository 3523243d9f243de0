"""Verification of the hardware: proofs, exhaustive arithmetic, mutants, coverage, faults."""
