"""Limits of the hardware with its default parameters, and of the model, for every system."""

from rtl.parameters import T3Parameters

__all__ = [
    "LINE_BYTES",
    "MOST_COLLECTIVE_WAVES",
    "MOST_GROUP_WORKGROUPS",
    "MOST_LINE_REQUESTS",
    "MOST_OCCUPANCY",
    "MOST_SLOTS",
    "MOST_STARVATION_CYCLES",
    "MOST_TILE_ATOMS",
    "MOST_WAVEFRONTS",
    "MOST_WAYS",
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
MOST_WAYS = 32
"""Largest number of ways of a tracker set."""

# Capacities of the model. They are constants, so that one compilation serves all systems.
LINE_BYTES = 128
"""Bytes of a line of the L2."""
MOST_SLOTS = 2048
"""Largest number of workgroups that run on all CUs at a time."""
MOST_COLLECTIVE_WAVES = 8192
"""Largest number of wavefronts of a collective's kernel."""
MOST_LINE_REQUESTS = 32_768
"""Capacity of a channel's queue of line requests, a power of two."""
