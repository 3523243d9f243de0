"""Collectives of a launch: the parts of its workgroups, and the way of the tiles of each part."""

from dataclasses import dataclass, replace

from rtl.interface.encodings import Action

from .gate import Gate
from .peer import DOWNSTREAM

__all__ = ["Collective", "Part", "Ring"]


@dataclass(frozen=True)
class Part:
    """Workgroups that follow each other in dispatch order, and whose tiles go the same way.

    Parameters
    ----------
    workgroups : int
        Number of the workgroups.
    stores_leave : bool
        The kernel's stores leave for the peers; otherwise they update the memory here.
    shares : int
        Contributions with which a tile that is updated here is complete: the kernel's contribution
        and the arriving ones. If the stores leave: contributions of the tiles that arrive in slots
        of the same numbers as these dispatch indices; 0 if no tile arrives.
    peers : tuple of int
        Peers to which the stores, or the complete tiles, go. Without peers, tiles stay.
    slot_offset : int
        Difference between a tile's slot at the peers and its dispatch index here.
    gate : Gate or None
        The workgroups wait for slots of another context.
    """

    workgroups: int
    stores_leave: bool = False
    shares: int = 1
    peers: tuple[int, ...] = ()
    slot_offset: int = 0
    gate: Gate | None = None

    @property
    def action(self) -> Action:
        """Action of the range that maps the part."""
        if self.stores_leave:
            return Action.REMOTE
        return Action.DMA if self.peers else Action.OWN


@dataclass(frozen=True)
class Collective:
    """Collective that the stores of a kernel drive, as one GPU takes part in it.

    Parameters
    ----------
    parts : tuple of Part
        Ways of the tiles, in dispatch order.
    tracked_first : int
        First slot whose tile becomes complete here; the last one is that of the last workgroup.
    credit_window : int
        Tiles that may be incomplete here at the same time.
    command_window : int
        Workgroups whose commands may wait.
    unused : int
        Dispatch indices at the start of the first part that have no workgroup. They are needed
        where tiles of this part go to slots below their dispatch indices, since slots are not
        negative.
    generation : int
        Generation of the launch, 0 to 15: the same on all GPUs, and 1 to 7 after the previous
        launch's, modulo 16.
    accumulate : bool
        The first update of an atom adds to what the memory holds, instead of replacing it.
    progress : int
        Slots, a power of two, after each of which INTERRUPTS.progress is set; 0: never.

    Raises
    ------
    ValueError
        If the first part has fewer dispatch indices than ``unused``.
    """

    parts: tuple[Part, ...]
    tracked_first: int
    credit_window: int
    command_window: int
    unused: int = 0
    generation: int = 0
    accumulate: bool = False
    progress: int = 0

    def __post_init__(self) -> None:
        most = self.parts[0].workgroups if self.parts else 0
        if not 0 <= self.unused <= most:
            raise ValueError(f"unused must be at least 0 and at most {most}, not {self.unused!r}")

    @property
    def end(self) -> int:
        """End of the dispatch indices."""
        return sum(part.workgroups for part in self.parts)

    @property
    def to_send(self) -> int:
        """Number of workgroups whose stores or tiles leave."""
        leaving = sum(part.workgroups for part in self.parts if part.peers)
        return leaving - (self.unused if self.parts and self.parts[0].peers else 0)


@dataclass(frozen=True)
class Ring:
    """Part of a GPU in a ring reduce-scatter, in workgroups in dispatch order.

    The chunk that is dispatched first leaves as it is stored. The chunks that follow are reduced
    here and sent when they are complete. The last chunk is reduced here and stays. Stores and
    tiles that leave go to the peer :data:`~driver.python.peer.DOWNSTREAM`.

    Parameters
    ----------
    workgroups : int
        Number of workgroups of the kernel.
    leaving : int
        Workgroups of the chunk that leaves.
    staying : int
        Workgroups of the chunk that stays.
    credit_window, command_window, generation : int
        See :class:`Collective`.
    shares : int
        Contributions with which a tile is complete: the kernel's and the arriving ones.
    """

    workgroups: int
    leaving: int
    staying: int
    credit_window: int
    command_window: int
    shares: int = 2
    generation: int = 0

    @property
    def collective(self) -> Collective:
        """Ways of the tiles of the three chunks."""
        middle = self.workgroups - self.leaving - self.staying
        passed = Part(middle, shares=self.shares, peers=(DOWNSTREAM,), slot_offset=self.staying)
        return Collective(
            parts=(
                replace(passed, workgroups=self.leaving, stores_leave=True, shares=0),
                passed,
                Part(self.staying, shares=self.shares),
            ),
            tracked_first=self.leaving,
            credit_window=self.credit_window,
            command_window=self.command_window,
            generation=self.generation,
        )
