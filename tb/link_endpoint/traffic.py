"""Random packets for a link, some of which continue the packet before them."""

import random

from rtl.interface.encodings import PacketKind
from rtl.link.layouts import FRAME_ATOMS
from tb.payload import Fields

__all__ = ["Traffic", "continues"]


class Traffic:
    """Random packets, of which some have the next atom of the packet before them.

    Parameters
    ----------
    rng : :class:`random.Random`
    shape : :class:`~amaranth.lib.data.StructLayout`
        Packet.

    Attributes
    ----------
    runs : float
        Probability that a packet has the next atom, and equal other fields.
    near : float
        Probability that one bit of such a packet differs.
    """

    def __init__(self, rng: random.Random, shape):
        self._rng, self._fields = rng, Fields(shape)
        self._atoms = 1 << shape["atom"].width
        self.runs, self.near = 0.7, 0.05
        self._last = self._random()

    def _random(self) -> int:
        return self._rng.getrandbits(self._fields.width)

    def next(self) -> int:
        """Draw a packet."""
        rng, fields = self._rng, self._fields
        packet = self._random()
        if rng.random() < self.runs:
            values, drawn = fields.named(self._last), fields.named(packet)
            data = {name: drawn[name] for name in values if name.startswith("data")}
            packet = fields.pack({**values, **data, "atom": (values["atom"] + 1) % self._atoms})
            if rng.random() < self.near:
                packet ^= 1 << rng.randrange(fields.width)
        self._last = packet
        return packet


def continues(before: dict[str, int] | None, packet: dict[str, int]) -> bool:
    """Return whether a packet continues the one before it, both by field; None is no packet."""
    if before is None or before["kind"] == PacketKind.END.value:
        return False
    same = all(
        before[name] == value
        for name, value in packet.items()
        if name != "atom" and not name.startswith("data")
    )
    return same and packet["atom"] == before["atom"] + 1 and packet["atom"] % FRAME_ATOMS != 0
