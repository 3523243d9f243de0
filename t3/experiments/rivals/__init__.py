"""T3 against what GPUs of today do, between two GEMMs of today's models."""
