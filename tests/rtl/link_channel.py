"""A physical link that loses, repeats, corrupts, delays and reorders flits, for simulations."""

import random
from dataclasses import dataclass

__all__ = ["CLEAN", "Channel", "Faults"]


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Probabilities per flit, and cycles: a flit arrives after ``latency``, a straggler at most
    ``straggle`` later. ``busy`` is the part of the cycles in which the link takes nothing."""

    lose: float = 0
    repeat: float = 0
    corrupt: float = 0
    late: float = 0
    busy: float = 0
    latency: int = 1
    straggle: int = 0


CLEAN = Faults()


class Channel:
    """One direction. Corruption flips one to five bits, or a burst of up to 32."""

    def __init__(self, rng: random.Random, faults: Faults, bits: int):
        self.faults = faults
        self.corrupted = 0
        self._rng, self._bits = rng, bits
        self._flits: list[tuple[int, int]] = []  # (cycle in which it arrives, flit)

    def put(self, flit: int, cycle: int) -> None:
        rng, faults = self._rng, self.faults
        copies = (rng.random() >= faults.lose) + (rng.random() < faults.repeat)
        for _ in range(copies):
            late = rng.randint(1, faults.straggle) if rng.random() < faults.late else 0
            self._flits.append((cycle + faults.latency + late, self._spoil(flit)))

    def take(self, cycle: int) -> int | None:
        """The flit that arrives in this cycle; one of those that collide, the others are lost."""
        due = [flit for when, flit in self._flits if when == cycle]
        self._flits = [entry for entry in self._flits if entry[0] > cycle]
        return self._rng.choice(due) if due else None

    def _spoil(self, flit: int) -> int:
        rng = self._rng
        if rng.random() >= self.faults.corrupt:
            return flit
        self.corrupted += 1
        if rng.random() < 0.5:
            wrong = rng.sample(range(self._bits), rng.randint(1, 5))
            return flit ^ sum(1 << bit for bit in wrong)
        return flit ^ (rng.randrange(1, 1 << 32) << rng.randrange(self._bits - 31))
