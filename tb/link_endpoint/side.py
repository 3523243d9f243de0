"""One endpoint: what it is given, what it must have sent and delivered, and what it knows."""

import random
from collections import deque

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import ErrorReport, Packet
from rtl.link.layouts import Flit
from tb.cover import cover, expect
from tb.link_endpoint.dut import LINK, PARAMETERS
from tb.payload import Fields

__all__ = ["FLIT", "Side"]

_PACKET = Fields(Packet(PARAMETERS))
FLIT = Fields(Flit(Packet(PARAMETERS), LINK))
_REPORT = Fields(ErrorReport(PARAMETERS))
_BODY_PACKET = [f"body_packet_{name}" for name in _PACKET.names]
_NUMBERS = 1 << LINK.sequence_bits
_LATE_CYCLES = 16  # from an acknowledgement to the flits that know it

expect(
    "sent again",
    "credits exhausted",
    "all that is kept waits for an acknowledgement",
    "corrupt packet dropped",
    "corrupt control flit dropped",
    "duplicate dropped",
    "packet behind a gap dropped",
    "late acknowledgement",
    "acknowledged beyond what was sent again",
    "late limit",
    "numbers went around",
    "flit waits for the wire",
    "receive buffer full",
)


class Side:
    """An endpoint, its packets, and the numbers of ``docs/link.md``, which count from 0 on here.

    Attributes
    ----------
    offer, take : float
        Chances in a cycle that a packet comes, and that one is taken.
    most : int or None
        Packets to offer in all.
    sent, received : list of tuple
        Cycle and packet.
    errors : list of tuple
        Cycle and code.
    """

    def __init__(self, dut, name: str, rng: random.Random):
        self._dut, self._name, self._rng = dut, name, rng
        self.offer = self.take = 1.0
        self.most: int | None = None
        self.sent: list[tuple[int, int]] = []
        self.received: list[tuple[int, int]] = []
        self.errors: list[tuple[int, ErrorCode]] = []
        self._offered: int | None = None
        # What it sent: the next new number, the last one, and what it told.
        self._upcoming, self._last, self._told, self._told_limit = 0, -1, 0, LINK.receive_depth
        # What arrived: the awaited number, what is acknowledged, and the credits.
        self.awaited, self._base, self._limit = 0, 0, 0
        # Acknowledged before each of the last cycles with a free wire.
        self._bases: deque[int] = deque([0] * _LATE_CYCLES, _LATE_CYCLES)
        self._went_back = False

    def _port(self, name: str):
        return getattr(self._dut, f"{self._name}__{name}")

    def value(self, name: str) -> int:
        """Of a port, now."""
        return int(self._port(name).value)

    def drive(self, arrives: int | None, *, busy: bool) -> None:
        rng = self._rng
        room = self.most is None or len(self.sent) < self.most
        if self._offered is None and room and rng.random() < self.offer:
            self._offered = rng.getrandbits(_PACKET.width)
        self._ready, self._busy = rng.random() < self.take, busy
        self._port("packets__valid").value = int(self._offered is not None)
        self._port("packets__payload").value = self._offered or 0
        self._port("o__ready").value = int(self._ready)
        self._port("send__ready").value = int(not busy)
        self._port("receive__valid").value = int(arrives is not None)
        self._port("receive__payload").value = arrives or 0

    def check(self, cycle: int, other: "Side") -> int | None:
        """Compare the outputs of a cycle; gives the flit that leaves."""
        if self.value("o__valid") and self._ready:
            packet = self.value("o__payload")
            number = len(self.received)
            assert number < len(other.sent), f"{self._name} delivers what was not sent"
            wanted = other.sent[number][1]
            assert packet == wanted, f"{self._name} delivers {packet:#x} for {wanted:#x}"
            self.received.append((cycle, packet))
        if self.value("error__valid"):
            report = _REPORT.named(self.value("error__report"))
            self.errors.append((cycle, ErrorCode(report["code"])))
        sends = self.value("send__valid")
        assert sends or cycle < 3, f"{self._name} sends nothing"
        cover("flit waits for the wire", sends and self._busy)
        takes = self.value("packets__ready")
        self._went_back |= self.value("replays") != 0
        leaves = self.value("send__payload") if sends and not self._busy else None
        if leaves is not None:
            self._check_flit(FLIT.named(leaves))
            self._bases.append(self._base)
        waits = len(self.sent) - self._base
        assert waits <= LINK.replay_depth, f"{self._name} has taken {waits} that are not there"
        cover("all that is kept waits for an acknowledgement", waits == LINK.replay_depth)
        cover("receive buffer full", self.awaited - len(self.received) == LINK.receive_depth)
        if self._offered is not None and takes:
            self.sent.append((cycle, self._offered))
            self._offered = None
        return leaves

    def _check_flit(self, flit: dict[str, int]) -> None:
        """It carries the packet of its number, into room, and tells nothing that is not so."""
        name = self._name
        assert not flit["body_reserved"]
        self._told += (flit["body_acknowledge"] - self._told) % _NUMBERS
        assert self._told <= self.awaited, f"{name} acknowledges what has not arrived"
        self._told_limit += (flit["body_limit"] - self._told_limit) % _NUMBERS
        room = len(self.received) + LINK.receive_depth
        assert self._told_limit <= room, f"{name} gives credits for {self._told_limit} of {room}"
        cover("numbers went around", self._told >= _NUMBERS)
        if not flit["body_data"]:
            spent = self._upcoming == self._limit < len(self.sent)
            cover("credits exhausted", spent)
            return
        back = (self._upcoming - flit["body_sequence"]) % _NUMBERS
        assert back <= LINK.replay_depth, f"{name} sends {back} before the next one"
        number = self._upcoming - back
        assert number < len(self.sent), f"{name} sends what it has not been given"
        assert number < self._limit, f"{name} sends more than there is room for"
        packet = _PACKET.pack([flit[field] for field in _BODY_PACKET])
        assert packet == self.sent[number][1], f"{name} sends another packet as {number}"
        # In order, but for going back, and for what was acknowledged after it had gone back.
        assert number <= max(self._last + 1, self._base), f"{name} leaves out some before {number}"
        assert number > self._last or self._went_back, f"{name} sends {number} again, for nothing"
        assert number >= self._bases[0], f"{name} sends {number} again, which has arrived"
        cover("sent again", back)
        self._last, self._upcoming = number, max(self._upcoming, number + 1)

    def arrives(self, flit: int, *, corrupt: bool) -> None:
        """What the endpoint may know from now on."""
        body = FLIT.named(flit)
        data = body["body_data"]
        if corrupt:
            cover("corrupt packet dropped", data)
            cover("corrupt control flit dropped", not data)
            return
        if data:
            ahead = (body["body_sequence"] - self.awaited) % _NUMBERS
            self.awaited += not ahead
            cover("packet behind a gap dropped", 0 < ahead < _NUMBERS // 2)
            cover("duplicate dropped", ahead >= _NUMBERS // 2)
        ahead = (body["body_acknowledge"] - self._base) % _NUMBERS
        if ahead <= len(self.sent) - self._base:
            self._base += ahead
            cover("acknowledged beyond what was sent again", self._base > self._last + 1)
        else:
            cover("late acknowledgement")
        ahead = (body["body_limit"] - self._limit) % _NUMBERS
        if ahead < _NUMBERS // 2:
            self._limit += ahead
        else:
            cover("late limit")

    def finish(self) -> None:
        """Offer nothing more, take everything."""
        self.most = len(self.sent) + (self._offered is not None)
        self.take = 1.0

    def done(self, other: "Side") -> bool:
        """Whether everything has arrived there."""
        return len(self.sent) == self.most == len(other.received)
