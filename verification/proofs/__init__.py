"""Proofs of the block contracts by k-induction, with SymbiYosys."""
