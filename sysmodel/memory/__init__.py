"""Memory side of a GPU: HBM channels and the accesses to them."""
