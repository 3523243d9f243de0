"""What the hardware has room for, whatever the system; with its default parameters."""

__all__ = [
    "MOST_GROUP_WORKGROUPS",
    "MOST_OCCUPANCY",
    "MOST_STARVATION_CYCLES",
    "MOST_TILE_ATOMS",
    "MOST_WAVEFRONTS",
    "MOST_WORKGROUPS",
]

MOST_WORKGROUPS = (1 << 16) - 1
MOST_GROUP_WORKGROUPS = 128  # that trigger together
MOST_OCCUPANCY = 127  # of the DRAM queue, as the arbiter compares it
MOST_STARVATION_CYCLES = (1 << 16) - 1
MOST_WAVEFRONTS = 8  # of a workgroup
MOST_TILE_ATOMS = (1 << 10) - 1  # of a wavefront's tile
