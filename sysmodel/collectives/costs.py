"""Costs of a collective for one rank: traffic, messages, and steps of the longest chain."""

from dataclasses import dataclass

__all__ = ["Costs"]


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Costs of one rank. The traffic is in chunks, of which each owner has one, or in bytes.

    Memory accesses are those of a collective that runs on compute units, from its operands in
    memory to its results in memory.

    Parameters
    ----------
    sent : int
        Data that leaves the rank's port; a multicast counts once.
    received : int
        Data that arrives.
    read, written : int
        Memory accesses.
    messages : int
        Chunks, or parts of them, that leave the port.
    steps : int
        Most messages of which each needs the one before: the latencies that add up.
    """

    sent: int
    received: int
    read: int
    written: int
    messages: int
    steps: int

    def __add__(self, other: "Costs") -> "Costs":
        """Costs of two collectives, one after the other."""
        return Costs(**{name: getattr(self, name) + getattr(other, name) for name in _FIELDS})

    def times(self, size: int) -> "Costs":
        """Costs in bytes, if a chunk has ``size``."""
        scaled = {name: getattr(self, name) * size for name in _FIELDS[:4]}
        return Costs(**scaled, messages=self.messages, steps=self.steps)


_FIELDS = tuple(Costs.__dataclass_fields__)


def reduced(ranks: int, *, messages: int, steps: int) -> Costs:
    """Costs of a reduce-scatter that sends each chunk once, as the sum of its contributions.

    A rank reads its own operand and the arrivals that it has staged, and writes the result.
    """
    others = ranks - 1
    return Costs(
        sent=others,
        received=others,
        read=ranks + others,
        written=others + 1,
        messages=messages,
        steps=steps,
    )
