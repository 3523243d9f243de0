"""Collectives of a launch: the parts of its workgroups, and the way of the tiles of each part."""

from dataclasses import dataclass

from rtl.interface.encodings import Action

from .gate import Gate
from .transfer import Transfer

__all__ = ["Collective", "Part"]


@dataclass(frozen=True)
class Part:
    """Slots that follow each other, and whose tiles go the same way: of workgroups in dispatch
    order, or of tiles that only arrive.

    Parameters
    ----------
    workgroups : int
        Number of the slots.
    stores_leave : bool
        The kernel's stores leave for the peers; otherwise they update the memory here.
    shares : int
        Contributions with which a tile that is updated here is complete: the kernel's contribution
        and the arriving ones. If the stores leave: contributions of the tiles that arrive in slots
        of the same numbers as these dispatch indices; 0 if no tile arrives.
    peers : tuple of int
        Peers to which the stores, or the complete tiles, go. Without peers, tiles stay.
    slot_offset : int
        Difference between a tile's slot at the peers and its slot here.
    gate : Gate or None
        The workgroups wait for slots of another context.
    transfer : Transfer or None
        Transfer of its tiles; None: that of the collective. Parts with the same object share a
        command template.
    """

    workgroups: int
    stores_leave: bool = False
    shares: int = 1
    peers: tuple[int, ...] = ()
    slot_offset: int = 0
    gate: Gate | None = None
    transfer: Transfer | None = None

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
        Ways of the tiles, in the order of their slots.
    tracked_first : int
        First slot whose tile becomes complete here; the last one is that of the last part.
    credit_window : int
        Tiles that may be incomplete here at the same time.
    command_window : int
        Workgroups whose commands may wait.
    unused : int
        Slots at the start of the first part that have no workgroup. They are needed where tiles of
        this part go to slots below their dispatch indices, since slots are not negative, or where
        tiles only arrive.
    arriving : int
        Slots at the end that have no workgroup: tiles only arrive in them.
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
        If the first part has fewer slots than ``unused``, or all parts fewer than ``arriving``.
    """

    parts: tuple[Part, ...]
    tracked_first: int
    credit_window: int
    command_window: int
    unused: int = 0
    arriving: int = 0
    generation: int = 0
    accumulate: bool = False
    progress: int = 0

    def __post_init__(self) -> None:
        most = self.parts[0].workgroups if self.parts else 0
        if not 0 <= self.unused <= most:
            raise ValueError(f"unused must be at least 0 and at most {most}, not {self.unused!r}")
        if not 0 <= self.arriving <= self.end:
            raise ValueError(
                f"arriving must be at least 0 and at most {self.end}, not {self.arriving!r}"
            )

    @property
    def end(self) -> int:
        """End of the slots."""
        return sum(part.workgroups for part in self.parts)

    @property
    def workgroups(self) -> int:
        """End of the dispatch indices."""
        return self.end - self.arriving

    @property
    def to_send(self) -> int:
        """Number of slots whose stores or tiles leave."""
        leaving = sum(part.workgroups for part in self.parts if part.peers)
        return leaving - (self.unused if self.parts and self.parts[0].peers else 0)
