"""Limits of the hardware with its default parameters, which hold for every system."""

from rtl.parameters import T3Parameters

__all__ = [
    "MOST_GROUP_WORKGROUPS",
    "MOST_OCCUPANCY",
    "MOST_STARVATION_CYCLES",
    "MOST_TILE_ATOMS",
    "MOST_WAVEFRONTS",
    "MOST_WORKGROUPS",
]

MOST_WORKGROUPS = (1 << T3Parameters.workgroup_bits) - 1
MOST_WAVEFRONTS = T3Parameters.wavefronts
"""Largest number of wavefronts in a workgroup."""
MOST_TILE_ATOMS = (1 << T3Parameters.tile_atom_bits) - 1
"""Largest number of atoms in a wavefront's tile."""

# Largest values of register fields. A test compares them with t3.rdl, which takes long to compile.
MOST_GROUP_WORKGROUPS = 128
"""Largest number of workgroups that trigger together."""
MOST_OCCUPANCY = 127
"""Largest occupancy of the DRAM queue that the arbiter compares."""
MOST_STARVATION_CYCLES = (1 << 16) - 1
