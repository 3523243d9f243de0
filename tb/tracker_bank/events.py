"""Events of a bank, as fields of ``TrackerInput``."""

__all__ = ["end", "update"]


def update(
    dispatch_index: int = 0, wavefront: int = 0, atom: int = 100, count: int = 1, owner: int = 0
) -> dict[str, int]:
    """Make an event of issued updates of a tile."""
    return {
        "end": 0,
        "owner": owner,
        "dispatch_index": dispatch_index,
        "wavefront": wavefront,
        "atom": atom,
        "count": count,
    }


def end(
    dispatch_index: int = 0,
    wavefront: int = 0,
    tile_atoms: int = 1,
    outer_edge: int = 0,
    inner_edge: int = 0,
    owner: int = 0,
    shares: int = 1,
    total: int = 1,
) -> dict[str, int]:
    """Make an end-of-tile marker, with ``shares`` of the ``total`` of its tile."""
    return {
        "end": 1,
        "owner": owner,
        "dispatch_index": dispatch_index,
        "wavefront": wavefront,
        "tile_atoms": tile_atoms,
        "outer_edge": outer_edge,
        "inner_edge": inner_edge,
        "shares": shares,
        "total": total,
    }
