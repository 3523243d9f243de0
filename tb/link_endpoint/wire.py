"""Physical link for simulations that loses, repeats, corrupts, delays and reorders frames."""

import random
from dataclasses import dataclass

from rtl.link.crc import CRC_BITS
from rtl.link.layouts import FRAME_ATOMS, Flit, header_bits
from rtl.link.parameters import LinkParameters

__all__ = ["CLEAN", "DEAD", "KINDS", "Faults", "Framing", "Wire"]


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Faults of a wire: probabilities per frame, and times in cycles. A frame arrives after
    ``latency``, a late frame at most ``straggle`` later. A ``torn`` frame lacks one of its flits,
    or has a flit or a mark of its begin or end too much or too little. ``busy`` is the share of
    cycles in which the link accepts no flit.
    """

    lose: float = 0
    repeat: float = 0
    corrupt: float = 0
    late: float = 0
    torn: float = 0
    busy: float = 0
    latency: int = 1
    straggle: int = 0


CLEAN = Faults()
DEAD = Faults(lose=1)
# Each fault alone, and all together.
KINDS = {
    "lose": Faults(lose=0.03, latency=5),
    "repeat": Faults(repeat=0.3, late=0.3, straggle=12),
    "corrupt": Faults(corrupt=0.03, latency=5),
    "reorder": Faults(late=0.1, straggle=40),
    "busy": Faults(lose=0.02, busy=0.6, latency=2),
    "torn": Faults(torn=0.05, busy=0.3),
    "all": Faults(torn=0.02, lose=0.02, repeat=0.1, corrupt=0.03, late=0.1, straggle=20, busy=0.2),
    "worst": Faults(torn=0.1, lose=0.4, repeat=0.3, corrupt=0.3, late=0.5, straggle=30, busy=0.3),
}


# A flit is missing or comes twice, or its mark `first` or `last` is wrong.
_TEARS = ("missing", "again", "first", "last")


class _Frame:
    """Frame on a wire: flits that wait, each with its cycle, and whether it was changed."""

    def __init__(self, start: int, late: int, *, corrupt: bool, torn: str | None):
        self.start, self.late = start, late
        self.flits: list[tuple[int, int, bool]] = []
        self.corrupt, self.torn = corrupt, torn
        self.gap = self.ended = False


class Wire:
    """One direction of a link. The flits of a frame stay together and in order. Corruption inverts
    one to five bits of a flit, or a burst of up to 32 bits.

    Parameters
    ----------
    rng : :class:`random.Random`
    faults : Faults
    shape : :class:`~amaranth.lib.data.StructLayout`
        Packet.
    link : LinkParameters

    Attributes
    ----------
    faults : Faults
        Faults from now on.
    corrupted : int
        Frames that were corrupted.
    arrivals : list of int
        Cycles in which a flit arrived.
    frames : list of int
        Number of flits of each frame that was sent.
    spoils : bool
        The flit that arrived last is not the one that was sent.
    """

    def __init__(self, rng: random.Random, faults: Faults, shape, link: LinkParameters):
        self.faults = faults
        self.corrupted = 0
        self.arrivals: list[int] = []
        self.frames: list[int] = []
        self.spoils = False
        self._rng, self._header = rng, header_bits(shape, link)
        self._marks = Flit(shape, link).size - 2  # place of `first` and `last`
        self._sent: list[_Frame] = []  # copies of the frame that is being sent
        self._waiting: list[_Frame] = []
        self._arrives: _Frame | None = None

    def put(self, flit: int, cycle: int) -> None:
        """Send a flit in this cycle."""
        first, last = flit >> self._marks & 1, flit >> self._marks + 1
        flit = self._scrambled(flit)
        if first:
            self._begin(cycle)
        self.frames[-1] += 1
        for frame in self._sent:
            self._add(frame, flit, cycle)
        if last:
            self._end()

    def take(self, cycle: int) -> int | None:
        """Return the flit that arrives in this cycle. Of frames that collide, all but one are
        lost.
        """
        frame = self._arrives
        if frame is not None and frame.ended and not frame.flits:
            frame = None
        begin = [one for one in self._waiting if one.start <= cycle]
        self._waiting = [one for one in self._waiting if one.start > cycle]
        if frame is None and begin:
            frame = self._rng.choice(begin)
        self._arrives = frame
        if frame is None or not frame.flits or frame.flits[0][0] > cycle:
            return None
        _, flit, self.spoils = frame.flits.pop(0)
        self.arrivals.append(cycle)
        return flit

    def _begin(self, cycle: int) -> None:
        rng, faults = self._rng, self.faults
        self._end()
        self.frames.append(0)
        copies = (rng.random() >= faults.lose) + (rng.random() < faults.repeat)
        for _ in range(copies):
            late = rng.randint(1, faults.straggle) if rng.random() < faults.late else 0
            corrupt = rng.random() < faults.corrupt
            torn = rng.choice(_TEARS) if rng.random() < faults.torn else None
            start = cycle + faults.latency + late
            self._sent.append(_Frame(start, late, corrupt=corrupt, torn=torn))
        self._waiting += self._sent

    def _end(self) -> None:
        for frame in self._sent:
            frame.ended = True
        self._sent = []

    def _add(self, frame: _Frame, flit: int, cycle: int) -> None:
        """Add a flit to a frame; some flit of a corrupt frame is changed, some of a torn one."""
        rng, arrives = self._rng, cycle + self.faults.latency + frame.late
        first, last = flit >> self._marks & 1, flit >> self._marks + 1
        places = self._on_wires(first, last)
        spoiled, frame.gap = frame.gap, False
        if frame.corrupt and places and (last or rng.random() < 0.3):
            flit, spoiled, frame.corrupt = flit ^ self._error(places), True, False
            self.corrupted += 1
        if frame.torn and (last or rng.random() < 0.3):
            tear, frame.torn = frame.torn, None
            if tear == "missing":
                frame.gap = True
                return
            if tear == "again":
                frame.flits.append((arrives, flit, spoiled))
                spoiled |= not first  # a first flit begins the frame once more
            else:
                flit ^= (1 if tear == "first" else 2) << self._marks
                spoiled = True
        frame.flits.append((arrives, flit, spoiled))

    def _on_wires(self, first: int, last: int) -> list[int]:
        """List the bits of a flit that are on the wires."""
        begin, end = 0 if first else self._header, self._marks - (0 if last else CRC_BITS)
        return list(range(begin, end))

    def _scrambled(self, flit: int) -> int:
        """Replace the bits that are not on the wires by random ones."""
        places = self._on_wires(flit >> self._marks & 1, flit >> self._marks + 1)
        kept = sum(1 << bit for bit in places) | 3 << self._marks
        return flit & kept | self._rng.getrandbits(self._marks) & ~kept

    def _error(self, places: list[int]) -> int:
        rng = self._rng
        if rng.random() < 0.5:
            wrong = rng.sample(places, min(len(places), rng.randint(1, 5)))
        else:
            begin = rng.randrange(len(places))
            burst = places[begin : begin + 32]
            wrong = [burst[0], *(bit for bit in burst[1:] if rng.random() < 0.5)]
        return sum(1 << bit for bit in wrong)


class Framing:
    """Verdicts on the frames that arrive at an endpoint.

    Attributes
    ----------
    corrupt : int
        Frames that were corrupt.
    """

    def __init__(self) -> None:
        self.corrupt = 0
        self._open = self._bad = False
        self._flits = 0

    def arrive(self, *, first: bool, last: bool, spoiled: bool) -> bool | None:
        """Return whether the frame that ends with a flit is intact; None if it goes on."""
        if first:
            self.corrupt += self._open  # the frame before has no last flit
            self._flits, self._bad = 0, False
        elif not self._open:
            self._bad = True
        self._flits += 1
        self._bad |= spoiled or self._flits > FRAME_ATOMS
        self._open = not last
        if not last:
            return None
        self.corrupt += self._bad
        return not self._bad
