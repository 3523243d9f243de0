"""What the tracker must do with a sequence of events, tile by tile."""

from dataclasses import dataclass, field

from rtl.interface.encodings import ErrorCode
from rtl.parameters import T3Parameters

__all__ = ["Event", "Tile", "TrackerReference"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """An update of a tile, or its end. Fields as in :func:`rtl.interface.layouts.TrackerInput`."""

    end: int = 0
    dispatch_index: int = 0
    wavefront: int = 0
    atom: int = 0
    count: int = 0
    tile_atoms: int = 0
    outer_edge: int = 0
    inner_edge: int = 0


@dataclass
class Tile:
    updates: int = 0
    atoms: list[int] = field(default_factory=list)
    end: Event | None = None


class TrackerReference:
    """Tiles that are not complete, in a dictionary.

    Parameters
    ----------
    p : T3Parameters
        Geometry: how many tiles a set holds, how far an entry counts.
    updates_per_atom : int
        Updates that every atom of a tile gets.
    """

    def __init__(self, p: T3Parameters, updates_per_atom: int):
        self._p = p
        self._updates_per_atom = updates_per_atom
        self.tiles: dict[tuple[int, int], Tile] = {}

    def event(self, event: Event) -> tuple[int, ...] | ErrorCode | None:
        """Work off one event.

        Returns
        -------
        tuple or ErrorCode or None
            A completion as ``(dispatch_index, wavefront, start, outer_edge, inner_edge)``, an
            error, or nothing.
        """
        key = event.dispatch_index, event.wavefront
        if key not in self.tiles:
            same_set = [
                dispatch_index
                for dispatch_index, _ in self.tiles
                if (dispatch_index - event.dispatch_index) % self._p.sets == 0
            ]
            if len(same_set) == self._p.ways:
                return ErrorCode.SET_FULL
        tile = self.tiles.get(key, Tile())
        if event.end:
            if event.tile_atoms == 0:
                return ErrorCode.ZERO_THRESHOLD
            if tile.end is not None:
                return ErrorCode.SECOND_END_OF_TILE
            tile.end = event
        else:
            tile.updates += event.count
            tile.atoms.append(event.atom)
            if tile.end is None and tile.updates >= 1 << self._p.count_bits:
                del self.tiles[key]
                return ErrorCode.COUNT_OVERFLOW
        self.tiles[key] = tile
        if tile.end is None:
            return None
        missing = tile.end.tile_atoms * self._updates_per_atom - tile.updates
        if missing > 0:
            return None
        del self.tiles[key]
        if missing < 0:
            return ErrorCode.OVERRUN
        return (*key, min(tile.atoms), tile.end.outer_edge, tile.end.inner_edge)
