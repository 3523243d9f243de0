"""Deliberately broken copies of the blocks, for tests of proofs and of tests."""
