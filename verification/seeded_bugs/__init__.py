"""Seeded bugs: deliberate bugs in blocks, for tests of proofs and benches."""
