"""Slots of the tiles that a rank tracks, and the contributions to them, in each sender's order."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sysmodel.lib.errors import InputError

from .schedule import Chunk, Expanded

__all__ = ["Contributions", "Entry", "Slot", "contributions"]

Slot = tuple[int, int]
"""A receiver, and its number of a tile, in the order in which tiles are to become complete."""

Entry = tuple[Slot, ...]
"""Contributions that leave together: all receivers must admit them."""


class Contributions(NamedTuple):
    """Contributions of one stage.

    Parameters
    ----------
    stores : sequence
        For each sender its entries in the order of production.
    sends : sequence
        For each receiver the entries that it sends, by the complete slot that triggers them. They
        pass one queue, whose head blocks all others.
    together : sequence of mapping
        For each receiver the further slots that must be complete before a slot triggers: those of
        its group. Without one, each slot triggers alone.
    """

    stores: Sequence[Sequence[Entry]]
    sends: Sequence[Mapping[int, Entry]]
    together: Sequence[Mapping[int, Sequence[int]]] = ()

    def triggers(self, receiver: int, slot: int) -> tuple[int, ...]:
        """Slots that must be complete before a slot's entry is sent."""
        others = self.together[receiver].get(slot, ()) if self.together else ()
        return (slot, *others)

    def slots(self) -> list[int]:
        """Slots of each receiver."""
        found = [0] * max(len(self.stores), len(self.sends))
        for entries in (*self.stores, *(sending.values() for sending in self.sends)):
            for entry in entries:
                for receiver, slot in entry:
                    found[receiver] = max(found[receiver], slot + 1)
        return found


def contributions(
    expanded: Expanded, stage: int = 0, *, tiles: int, rounds: int = 1
) -> Contributions:
    """Contributions of a stage on hardware that tracks tiles and sends the complete ones.

    A rank tracks the chunks that arrive, and numbers their tiles in its order of production. The
    rank's own contribution to a tracked chunk is a local store. A chunk without arrivals leaves at
    once.

    Parameters
    ----------
    tiles : int
        Tiles of a chunk.
    rounds : int
        Rounds in which the chunks are produced: in each round, an equal share of every chunk. With
        as many rounds as tiles, one tile of every chunk is produced in turn.

    Raises
    ------
    InputError
        ``rounds`` is not a divisor of ``tiles``.
    """
    if rounds < 1 or tiles < 1 or tiles % rounds:
        raise InputError("rounds", f"{rounds} is not allowed; allowed: a divisor of {tiles}")
    share = tiles // rounds
    numbers: list[dict[tuple[Chunk, int], int]] = [{} for _ in range(expanded.ranks)]
    order = [
        [
            (flow, tile)
            for lot in range(rounds)
            for flow in flows
            for tile in range(lot * share, (lot + 1) * share)
        ]
        for flows in expanded.flows[stage]
    ]
    for rank, produced in enumerate(order):
        for flow, tile in produced:
            if flow.arrivals:
                numbers[rank][flow.chunk, tile] = len(numbers[rank])
    stores: list[list[Entry]] = [[] for _ in range(expanded.ranks)]
    sends: list[dict[int, Entry]] = [{} for _ in range(expanded.ranks)]
    for rank, produced in enumerate(order):
        for flow, tile in produced:
            leaves = tuple((peer, numbers[peer][flow.chunk, tile]) for peer in flow.to)
            if not flow.arrivals:
                stores[rank] += [leaves] if leaves else []
                continue
            slot = numbers[rank][flow.chunk, tile]
            if flow.own:
                stores[rank].append(((rank, slot),))
            if leaves:
                sends[rank][slot] = leaves
    return Contributions(stores, sends)
