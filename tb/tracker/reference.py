"""What the tracker must do with a sequence of events, tile by tile."""

from dataclasses import dataclass, field

from rtl.interface.encodings import ErrorCode
from rtl.parameters import T3Parameters

__all__ = ["Event", "Tile", "TrackerReference"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """An update of a tile, or its end. Fields as in :func:`rtl.interface.layouts.TrackerInput`."""

    end: int = 0
    place: int = 0
    wavefront: int = 0
    atom: int = 0
    count: int = 0
    sectors: int = 0
    row_edge: int = 0
    run_edge: int = 0


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
    updates_per_sector : int
        Updates that every sector of a tile gets.
    """

    def __init__(self, p: T3Parameters, updates_per_sector: int):
        self._p = p
        self._updates_per_sector = updates_per_sector
        self.tiles: dict[tuple[int, int], Tile] = {}

    def event(self, event: Event) -> tuple[int, ...] | ErrorCode | None:
        """Work off one event.

        Returns
        -------
        tuple or ErrorCode or None
            A completion as ``(place, wavefront, start, row_edge, run_edge)``, an error, or nothing.
        """
        key = event.place, event.wavefront
        if key not in self.tiles:
            same_set = [
                place for place, _ in self.tiles if (place - event.place) % self._p.sets == 0
            ]
            if len(same_set) == self._p.ways:
                return ErrorCode.SET_FULL
        tile = self.tiles.get(key, Tile())
        if event.end:
            if event.sectors == 0:
                return ErrorCode.ZERO_THRESHOLD
            if tile.end is not None:
                return ErrorCode.SECOND_TILE_END
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
        missing = tile.end.sectors * self._updates_per_sector - tile.updates
        if missing > 0:
            return None
        del self.tiles[key]
        if missing < 0:
            return ErrorCode.OVERRUN
        return (*key, min(tile.atoms), tile.end.row_edge, tile.end.run_edge)
