"""Blocks with a bug put into them on purpose, for tests of proofs and of benches."""
