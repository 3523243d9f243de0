"""Sizes of atoms, the units of the memory's accesses, and of cache lines."""

from sysmodel.config.workload import ELEMENT_BYTES

__all__ = ["ATOM_BYTES", "ELEMENTS", "LINE_ATOMS", "LINE_ATOM_BITS"]

ATOM_BYTES = 32
ELEMENTS = ATOM_BYTES // ELEMENT_BYTES
"""Elements of an atom."""

LINE_ATOM_BITS = 2
LINE_ATOMS = 1 << LINE_ATOM_BITS
"""Atoms of a cache line."""
