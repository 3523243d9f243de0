"""Proofs of the blocks' contracts by k-induction, with SymbiYosys."""
