"""Patterns of collectives, whose parts follow from a few numbers."""

from dataclasses import dataclass, replace

from rtl.interface.encodings import PacketKind

from .collective import Collective, Part
from .peer import DOWNSTREAM
from .transfer import Transfer

__all__ = ["Exchange", "Gather", "Overlap", "Ring", "Send", "stored"]


def stored(transfer: Transfer) -> Transfer:
    """Return the transfer with packets that the receivers store, instead of adding them."""
    return replace(transfer, kind=PacketKind.STORE)


@dataclass(frozen=True)
class Ring:
    """Part of a GPU in a ring reduce-scatter, in workgroups in dispatch order.

    The chunk that is dispatched first leaves as it is stored. The chunks that follow are reduced
    here and sent when they are complete. The last chunk is reduced here and stays. What leaves goes
    to the peer :data:`~driver.python.peer.DOWNSTREAM`.

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
        Contributions that make a tile complete: that of the kernel, and those that arrive.
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


@dataclass(frozen=True)
class Gather:
    """Part of a GPU in an all-gather, in slots.

    The kernel makes the GPU's own chunk, whose complete tiles are sent. Tiles that arrive are sent
    on, or stay.

    Parameters
    ----------
    own : int
        Workgroups of the own chunk.
    passed : int
        Slots behind it whose arriving tiles are sent on, as in a ring; the others stay.
    arriving : int
        Slots behind these whose arriving tiles stay.
    before : int
        Slots in front of the own chunk whose arriving tiles stay: where all GPUs give a tile the
        same slot, as they must if it is sent to several.
    peers : tuple of int
        Peers to which tiles are sent.
    slot_offset : int
        Difference between a tile's slot at the peers and its slot here.
    credit_window, command_window, generation : int
        See :class:`Collective`.
    """

    own: int
    arriving: int
    credit_window: int
    command_window: int
    passed: int = 0
    before: int = 0
    peers: tuple[int, ...] = (DOWNSTREAM,)
    slot_offset: int = 0
    generation: int = 0

    @property
    def collective(self) -> Collective:
        """Ways of the tiles in front of those that are sent, of these, and of those behind.

        Raises
        ------
        ValueError
            A number of slots is negative.
        """
        if least := min(0, self.own, self.passed):
            raise ValueError(f"the number of workgroups must be at least 0, not {least!r}")
        return Collective(
            parts=(
                Part(self.before),
                Part(self.own + self.passed, peers=self.peers, slot_offset=self.slot_offset),
                Part(self.arriving),
            ),
            tracked_first=0,
            credit_window=self.credit_window,
            command_window=self.command_window,
            unused=self.before,
            arriving=self.passed + self.arriving,
            generation=self.generation,
        )


@dataclass(frozen=True)
class Exchange:
    """Part of a GPU in an all-to-all, in slots: the kernel's stores leave for the GPUs that need
    them.

    Parameters
    ----------
    sent : tuple of Part
        Workgroups for each other GPU, with peer and slot offset, in dispatch order.
    own : int
        Workgroups behind these whose tiles stay.
    arriving : int
        Slots behind these, of the tiles that arrive.
    credit_window, command_window, generation : int
        See :class:`Collective`.
    """

    sent: tuple[Part, ...]
    own: int
    arriving: int
    credit_window: int
    command_window: int
    generation: int = 0

    @property
    def collective(self) -> Collective:
        """Ways of the tiles for each GPU, of the own ones, and of those that arrive."""
        return Collective(
            parts=(
                *(replace(part, stores_leave=True, shares=0) for part in self.sent),
                Part(self.own),
                Part(self.arriving),
            ),
            tracked_first=sum(part.workgroups for part in self.sent),
            credit_window=self.credit_window,
            command_window=self.command_window,
            arriving=self.arriving,
            generation=self.generation,
        )


@dataclass(frozen=True)
class Send:
    """Part of a GPU in a pipeline: its kernel's stores leave for the next stage, and tiles of the
    stage before arrive.

    Parameters
    ----------
    leaving : int
        Workgroups of the kernel.
    arriving : int
        Slots behind these, of the tiles that arrive; 0 at the first stage.
    peer : int
        Peer of the next stage.
    slot_offset : int
        Difference between a tile's slot there and its dispatch index here.
    credit_window, command_window, generation : int
        See :class:`Collective`.
    """

    leaving: int
    arriving: int
    credit_window: int
    command_window: int
    peer: int = DOWNSTREAM
    slot_offset: int = 0
    generation: int = 0

    @property
    def collective(self) -> Collective:
        """Ways of the tiles that leave, and of those that arrive."""
        return Exchange(
            sent=(Part(self.leaving, peers=(self.peer,), slot_offset=self.slot_offset),),
            own=0,
            arriving=self.arriving,
            credit_window=self.credit_window,
            command_window=self.command_window,
            generation=self.generation,
        ).collective


@dataclass(frozen=True)
class Overlap:
    """Part of a GPU in a ring reduce-scatter that an all-gather follows in the same launch.

    The complete tiles of the chunk that stays are sent as stores, and so are those that arrive
    then, except the last chunk.

    Parameters
    ----------
    ring : Ring
        Part in the reduce-scatter.
    passed : int
        Slots behind the workgroups whose arriving tiles are sent on.
    arriving : int
        Slots behind these whose arriving tiles stay.
    """

    ring: Ring
    passed: int
    arriving: int

    def collective(self, transfer: Transfer) -> Collective:
        """Ways of the tiles, with the transfer of the reduce-scatter."""
        reduced = self.ring.collective
        *before, own = reduced.parts
        gathered = replace(
            own,
            peers=(DOWNSTREAM,),
            slot_offset=self.ring.staying,
            transfer=stored(transfer),
        )
        return replace(
            reduced,
            parts=(
                *before,
                gathered,
                replace(gathered, workgroups=self.passed, shares=1),
                Part(self.arriving),
            ),
            arriving=self.passed + self.arriving,
        )
