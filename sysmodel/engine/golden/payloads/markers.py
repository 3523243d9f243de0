"""Content of an end-of-tile marker, which several payloads carry."""

from sysmodel.lib.compiled import inlined

from ..records import Record

__all__ = ["copy_marker", "packed_marker"]


@inlined
def copy_marker(to: Record, source: Record) -> None:
    """Copy the content of an end-of-tile marker between records of different kinds."""
    to.tile_atoms = source.tile_atoms
    to.outer_edge = source.outer_edge
    to.inner_edge = source.inner_edge
    to.shares = source.shares


@inlined
def packed_marker(
    config: Record, tile_atoms: int, outer_edge: int, inner_edge: int, shares: int
) -> int:
    """Return the content of an end-of-tile marker as the address of an END packet."""
    edges = outer_edge | inner_edge << 1
    return tile_atoms | (edges | shares << 2) << config.tile_atom_bits
