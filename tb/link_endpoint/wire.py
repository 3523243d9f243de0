"""Physical link for simulations that loses, repeats, corrupts, delays and reorders flits."""

import random
from dataclasses import dataclass

__all__ = ["CLEAN", "DEAD", "KINDS", "Faults", "Wire"]


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Faults of a wire: probabilities per flit, and times in cycles. A flit arrives after
    ``latency``, a late flit at most ``straggle`` later. ``busy`` is the share of cycles in which
    the link accepts no flit.
    """

    lose: float = 0
    repeat: float = 0
    corrupt: float = 0
    late: float = 0
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
    "busy": Faults(lose=0.02, busy=0.8, latency=2),
    "all": Faults(lose=0.02, repeat=0.1, corrupt=0.03, late=0.1, straggle=20, busy=0.2),
    "worst": Faults(lose=0.4, repeat=0.3, corrupt=0.3, late=0.5, straggle=40, busy=0.3),
}


class Wire:
    """One direction of a link. Corruption inverts one to five bits, or a burst of up to 32 bits.

    Parameters
    ----------
    rng : :class:`random.Random`
    faults : Faults
    bits : int
        Width of a flit.

    Attributes
    ----------
    faults : Faults
        Faults from now on.
    corrupted : int
        Flits that arrived corrupt.
    arrivals : list of int
        Cycles in which a flit arrived.
    """

    def __init__(self, rng: random.Random, faults: Faults, bits: int):
        self.faults = faults
        self.corrupted = 0
        self.arrivals: list[int] = []
        self._rng, self._bits = rng, bits
        # Cycle in which it arrives, flit, and whether it is corrupt.
        self._flits: list[tuple[int, int, bool]] = []

    def put(self, flit: int, cycle: int) -> None:
        """Send a flit in this cycle."""
        rng, faults = self._rng, self.faults
        copies = (rng.random() >= faults.lose) + (rng.random() < faults.repeat)
        for _ in range(copies):
            late = rng.randint(1, faults.straggle) if rng.random() < faults.late else 0
            self._flits.append((cycle + faults.latency + late, *self._spoil(flit)))

    def take(self, cycle: int) -> int | None:
        """Return the flit that arrives in this cycle; of several flits that collide, all but one
        are lost.
        """
        due = [entry for entry in self._flits if entry[0] == cycle]
        self._flits = [entry for entry in self._flits if entry[0] > cycle]
        if not due:
            return None
        _, flit, corrupt = self._rng.choice(due)
        self.corrupted += corrupt
        self.arrivals.append(cycle)
        return flit

    def _spoil(self, flit: int) -> tuple[int, bool]:
        rng = self._rng
        if rng.random() >= self.faults.corrupt:
            return flit, False
        if rng.random() < 0.5:
            wrong = sum(1 << bit for bit in rng.sample(range(self._bits), rng.randint(1, 5)))
        else:
            wrong = rng.randrange(1, 1 << 32) << rng.randrange(self._bits - 31)
        return flit ^ wrong, True
