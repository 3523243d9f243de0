"""What the hardware has room for, whatever the system; with its default parameters."""

__all__ = ["MOST_TILE_ATOMS", "MOST_WAVEFRONTS", "MOST_WORKGROUPS"]

MOST_WORKGROUPS = (1 << 16) - 1
MOST_WAVEFRONTS = 8  # of a workgroup
MOST_TILE_ATOMS = (1 << 10) - 1  # of a wavefront's tile
