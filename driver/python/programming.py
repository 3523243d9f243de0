"""Programming of a context's launches: commands, ranges and windows, alone or as a collective."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from rtl.interface.encodings import Action, ConfigurationError

from .assignment import Assignment
from .bus import Bus
from .collective import Collective
from .errors import RefusedError
from .gate import Gate
from .patterns import Exchange, Gather, Overlap, Ring, Send, stored
from .peer import DOWNSTREAM
from .transfer import Transfer
from .writes import COMMANDS, TILES, command_writes, map_writes, most_ranges, window_writes

__all__ = ["Programming"]


class Programming(Assignment):
    """Registers of a context's next launch.

    Parameters
    ----------
    ranges : int or None
        See :class:`.context.Context`.
    """

    def __init__(self, bus: Bus, number: int = 0, *, ranges: int | None = None):
        super().__init__(bus, number)
        self._alone = ranges is not None
        self._ranges = ranges  # number of programmed ranges; None if unknown

    def command(self, index: int, transfer: Transfer, *, region: int = 0) -> None:
        """Program a command template, which reads only atoms of one region."""
        self._page.write_all(command_writes(index, transfer, region))

    def unmap(self) -> None:
        """Remove all ranges of the context, also those of other objects and programs, so that
        stores are plain writes. The first map of an object begins with it.
        """
        if self._alone:
            for index in range(self._ranges or 0):
                self._page.write("RANGE_COMMIT", index=index, enable=0)
        else:
            # The staged region, command and peers are also checked, and may be another program's.
            self._page.write_all([("RANGE_ACTION", {}), ("RANGE_PEERS", {})])
            self._remove_every_range()
        self._ranges = 0

    def _remove_every_range(self) -> None:
        for index in range(most_ranges()):
            try:
                self._page.write("RANGE_COMMIT", index=index, enable=0)
            except RefusedError as refused:
                if refused.code is not ConfigurationError.UNKNOWN_INDEX:
                    raise
                return  # the hardware has no more

    def remote_map(
        self,
        first: int,
        count: int,
        *,
        region: int = 0,
        command: int = TILES,
        shares: int = 0,
        peers: Iterable[int] = (DOWNSTREAM,),
        slot_offset: int = 0,
        gate: Gate | None = None,
    ) -> None:
        """Send the stores of ``count`` workgroups, from dispatch index ``first`` on, to each of
        these peers.

        Parameters
        ----------
        shares : int
            Shares with which a tile is complete that arrives here in a slot of the range; 0: no
            tile arrives.
        slot_offset : int
            Difference between a tile's slot at the peers and its dispatch index here.
        gate : Gate or None
            The workgroups wait for slots of another context.
        """
        way = {"peers": peers, "slot_offset": slot_offset, "gate": gate}
        self._map(first, count, Action.REMOTE, region, command, shares=shares, **way)

    def dma_map(
        self,
        first: int,
        count: int,
        *,
        region: int = 0,
        command: int = TILES,
        shares: int = 1,
        peers: Iterable[int] = (DOWNSTREAM,),
        slot_offset: int = 0,
        gate: Gate | None = None,
    ) -> None:
        """Let stores of these workgroups update the memory here, and send each complete tile.

        A tile is complete with markers of ``shares`` in total. Receivers and gate are those of
        :meth:`remote_map`.
        """
        way = {"peers": peers, "slot_offset": slot_offset, "gate": gate}
        self._map(first, count, Action.DMA, region, command, shares=shares, **way)

    def own_map(
        self,
        first: int,
        count: int,
        *,
        region: int = 0,
        command: int = TILES,
        shares: int = 1,
        gate: Gate | None = None,
    ) -> None:
        """Let stores of these workgroups update the memory here, and keep the tiles here.

        A tile is complete with markers of ``shares`` in total. The gate is that of
        :meth:`remote_map`.
        """
        self._map(first, count, Action.OWN, region, command, shares=shares, gate=gate)

    def await_map(self, first: int, count: int, gate: Gate, *, region: int = 0) -> None:
        """Let these workgroups wait for slots of another context; their stores into the region are
        ordinary writes."""
        self._map(first, count, Action.NONE, region, TILES, gate=gate)

    def _map(self, *of_range: Any, **more: Any) -> None:
        """Program the next range; the arguments are those of :func:`.writes.map_writes` behind the
        index.
        """
        _, count, *_ = of_range
        self._page.check(map_writes(self._ranges or 0, *of_range, **more))
        if not count:
            return
        if self._ranges is None:
            self.unmap()
        index = self._ranges or 0
        self._page.write_all(map_writes(index, *of_range, **more))
        self._ranges = index + 1

    def collective(self, collective: Collective, transfer: Transfer, *, region: int = 0) -> None:
        """Program a collective on a buffer that a kernel writes tile by tile; it begins with
        :meth:`launch`.

        Parameters
        ----------
        transfer : Transfer
            Transfer of the tiles, unless a part has its own.

        Raises
        ------
        ValueError
            The parts have more transfers than there are command templates for tiles.
        RefusedError
        """
        transfers = _transfers(collective, transfer)
        window: dict[str, Any] = {
            "workgroups": collective.workgroups,
            "tracked": (collective.tracked_first, collective.end),
            "to_send": collective.to_send,
            "credit_window": collective.credit_window,
            "command_window": collective.command_window,
            "generation": collective.generation,
            "accumulate": collective.accumulate,
            "progress": collective.progress,
        }
        for command, one in zip(COMMANDS, transfers, strict=False):
            self._page.check(command_writes(command, replace(one, marks=True), region))
        self._page.check(window_writes(**window))
        maps, first = list[tuple[Any, dict[str, Any]]](), 0
        for part in collective.parts:
            way: dict[str, Any] = {"peers": part.peers, "slot_offset": part.slot_offset}
            way["gate"] = part.gate
            command = COMMANDS[_place(transfers, part.transfer or transfer)]
            of_range = first, part.workgroups, part.action, region, command
            maps.append((of_range, way | {"shares": part.shares}))
            first += part.workgroups
        for of_range, way in maps:
            self._page.check(map_writes(0, *of_range, **way))
        self.unmap()
        for command, one in zip(COMMANDS, transfers, strict=False):
            self.command(command, replace(one, marks=True), region=region)
        for of_range, way in maps:
            self._map(*of_range, **way)
        self.window(**window)

    def reduce_scatter(self, ring: Ring, transfer: Transfer, *, region: int = 0) -> None:
        """Program a ring reduce-scatter; see :meth:`collective`."""
        self.collective(ring.collective, transfer, region=region)

    def all_gather(self, gather: Gather, transfer: Transfer, *, region: int = 0) -> None:
        """Program an all-gather of what a kernel makes; see :meth:`collective`."""
        self.collective(gather.collective, stored(transfer), region=region)

    def all_to_all(self, exchange: Exchange, transfer: Transfer, *, region: int = 0) -> None:
        """Program an all-to-all of what a kernel makes; see :meth:`collective`."""
        self.collective(exchange.collective, stored(transfer), region=region)

    def send(self, send: Send, transfer: Transfer, *, region: int = 0) -> None:
        """Program the send of what a kernel makes to a pipeline's next stage; see
        :meth:`collective`."""
        self.collective(send.collective, stored(transfer), region=region)

    def gemm_overlap(self, overlap: Overlap, transfer: Transfer, *, region: int = 0) -> None:
        """Program a ring reduce-scatter that an all-gather follows; see :meth:`collective`."""
        self.collective(overlap.collective(transfer), transfer, region=region)

    def window(
        self,
        *,
        workgroups: int,
        tracked: tuple[int, int],
        to_send: int = 0,
        credit_window: int = 1,
        command_window: int = 1,
        generation: int = 0,
        accumulate: bool = False,
        progress: int = 0,
    ) -> None:
        """Program a launch's workgroups.

        Parameters
        ----------
        workgroups : int
            Number of workgroups of the kernel.
        tracked : (int, int)
            First dispatch index that is updated here, and end of these dispatch indices.
        to_send : int
            Number of workgroups whose tiles or stores leave, for the arbiters.
        credit_window, command_window, generation : int
            See :class:`Collective`.
        accumulate : bool
            The first update of an atom adds to what the memory holds, instead of replacing it.
        progress : int
            Slots, a power of two, after each of which INTERRUPTS.progress is set; 0: never.
        """
        self._page.write_all(
            window_writes(
                workgroups=workgroups,
                tracked=tracked,
                to_send=to_send,
                credit_window=credit_window,
                command_window=command_window,
                generation=generation,
                accumulate=accumulate,
                progress=progress,
            )
        )


def _transfers(collective: Collective, transfer: Transfer) -> list[Transfer]:
    """List the transfer of a collective, and those of its parts, each object once.

    Raises
    ------
    ValueError
        There are more than command templates.
    """
    found = [transfer]
    for part in collective.parts:
        if part.transfer is not None and _place(found, part.transfer) == len(found):
            found.append(part.transfer)
    if len(found) > len(COMMANDS):
        raise ValueError(f"the transfers must be at most {len(COMMANDS)}, not {len(found)}")
    return found


def _place(transfers: list[Transfer], transfer: Transfer) -> int:
    """Find the place of an object in a list; the end if it is not there."""
    return next((at for at, one in enumerate(transfers) if one is transfer), len(transfers))
