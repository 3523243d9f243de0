"""One endpoint: what it is given, what it must have sent and delivered, and what it knows."""

import random
from collections import deque

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import ErrorReport, LinkPacket
from rtl.link.layouts import Control, ControlWord, Flit, SessionState
from tb.cover import cover, expect
from tb.link_endpoint.dut import LINK, PARAMETERS
from tb.payload import Fields
from tb.stream import offer

__all__ = ["FLIT", "WORD_BITS", "Side"]

_PACKET = Fields(LinkPacket(PARAMETERS))
FLIT = Fields(Flit(LinkPacket(PARAMETERS), LINK))
_REPORT = Fields(ErrorReport(PARAMETERS))
_CONTROL = Fields(Control(ControlWord(PARAMETERS), LINK))
_WORD = Fields(ControlWord(PARAMETERS))
WORD_BITS = _WORD.width
"""Of a context's control word."""
_BODY_PACKET = [f"body_packet_{name}" for name in _PACKET.names]
_NUMBERS = 1 << LINK.sequence_bits
_LATE_CYCLES = 16  # from an acknowledgement to the flits that know it, if the wire is free
_SILENT_CYCLES = LINK.idle_cycles + 4  # between two flits that leave, if the wire is free
_CHECK_CYCLES = 3  # from a flit's arrival to the cycle in which it counts
_NOTHING = (0,) * LINK.contexts

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
    "nothing new to tell",
    "one is missing",
    "receive buffer full",
    "control word sent",
    "control word sent again",
    "control word between packets",
    "kept packets lost with their session",
    "delivered after the session",
    "the other side began anew",
)


class Side:
    """An endpoint, its packets, and the numbers of ``docs/link.md``, which count from 0 on here.

    Packets and numbers are those of a session: they begin anew with it.

    Attributes
    ----------
    offer, take, tell : float
        Chances in a cycle that a packet comes, that one is taken, and that a control word changes.
    most : int or None
        Packets to offer in all.
    sent, received : list of tuple
        Cycle and packet.
    errors : list of tuple
        Cycle and code, of all sessions.
    opened : int or None
        Cycle in which the session began, if there is one.
    """

    def __init__(self, dut, name: str, rng: random.Random):
        self._dut, self._name, self._rng = dut, name, rng
        self.offer, self.take, self.tell = 1.0, 1.0, 0.0
        self.most: int | None = None
        self.errors: list[tuple[int, ErrorCode]] = []
        self.opened: int | None = None
        self._offered: int | None = None
        # What to tell; for each context every word, and the cycle from which on it was to be told.
        self._words = list(_NOTHING)
        self._told_since = [[(0, 0)] for _ in _NOTHING]
        self._cycles = 0  # since reset
        self._silent = 0  # cycles with a free wire
        self._restarted = False  # in the last cycle, by itself
        self._offers = False  # a packet was offered in the last cycle and not taken
        self._restart_in: int | None = None  # last cycle in which it ended a session by itself
        self._replays = 0  # when the session began
        # What arrived in the last cycles: flits, and whether they are corrupt.
        self._arrives: deque[tuple[dict[str, int], bool] | None] = deque([None] * _CHECK_CYCLES)
        self._counts_corrupt = False  # the next count knows one more
        self._lost_in: int | None = None  # last cycle in which the other side began anew
        self._begin()

    def _begin(self) -> None:
        """A session."""
        self.sent: list[tuple[int, int]] = []
        self.received: list[tuple[int, int]] = []
        # What it sent: of each number the packet or word; each packet's number, and what is told
        # before it; the next new number, the last one, and what it acknowledged.
        self._items: list[int] = []
        self._numbers: list[int] = []
        self._before: list[tuple[int, ...]] = []
        self._last_words = [(0, 0)] * LINK.contexts  # cycle, and word
        self._last, self._told, self._told_limit = -1, 0, LINK.receive_depth
        # What arrived: the awaited number, what is acknowledged, and the credits.
        self.awaited, self._base, self._limit = 0, 0, 0
        # The last acknowledgement, and the one that it has seen for certain: it looks in every
        # second cycle, and by then an older flit may be there.
        self._acknowledged, self._seen = 0, 0
        # Seen before each of the last cycles with a free wire.
        self._bases: deque[int] = deque([0] * _LATE_CYCLES, _LATE_CYCLES)
        # Of what arrived and what has room: what must have been told by now.
        self._to_tell: deque[tuple[int, int]] = deque([(0, 0)] * _LATE_CYCLES, _LATE_CYCLES)
        self._missed: set[int] = set()  # awaited numbers before which another one arrived
        self._went_back = False

    @property
    def open(self) -> bool:
        """There is a session."""
        return self.opened is not None

    @property
    def _taken(self) -> int:
        """Packets and control words that have a number."""
        return len(self.sent) + len(self._items) - len(self._numbers)

    def _port(self, name: str):
        return getattr(self._dut, f"{self._name}__{name}")

    def value(self, name: str) -> int:
        """Of a port, now."""
        return int(self._port(name).value)

    def told(self) -> tuple[int, ...]:
        """By the other side, of each context."""
        told = self.value("told")
        return tuple(
            told >> _WORD.width * context & (1 << _WORD.width) - 1
            for context in range(len(_NOTHING))
        )

    def tells(self) -> tuple[int, ...]:
        """To the other side, of each context."""
        return tuple(self._words)

    def tell_another(self, cycle: int, context: int, word: int) -> None:
        """A context's control word from this cycle on."""
        self._words[context] = word
        self._told_since[context].append((cycle, word))

    def drive(self, cycle: int, arrives: int | None, *, corrupt: bool, busy: bool) -> None:
        """Set the inputs of a cycle."""
        rng = self._rng
        room = self.most is None or len(self.sent) < self.most
        if self._offered is None and room and rng.random() < self.offer:
            self._offered = rng.getrandbits(_PACKET.width)
        if rng.random() < self.tell:
            context = rng.randrange(LINK.contexts)
            # Another one, or the same but for a bit.
            near = self._words[context] ^ 1 << rng.randrange(_WORD.width)
            self.tell_another(cycle, context, rng.choice([near, rng.getrandbits(_WORD.width)]))
        self._ready, self._busy = rng.random() < self.take, busy
        offer(self._dut, f"{self._name}__packets__0", self._offered)
        self._port("o__0__ready").value = int(self._ready)
        self._port("send__ready").value = int(not busy)
        offer(self._dut, f"{self._name}__receive", arrives)
        self._port("tell").value = sum(
            word << _WORD.width * context for context, word in enumerate(self._words)
        )
        self._arrives.append(None if arrives is None else (FLIT.named(arrives), corrupt))

    def restart(self, *, reset: bool) -> int:
        """It was restarted, or reset, in the last cycle; gives how many corrupt flits it does not
        count for that."""
        self._restarted = True
        if not reset:
            return 0
        self._cycles = self._silent = 0
        self._lost_in, self._offers = None, False
        missed = sum(one is not None and one[1] for one in self._arrives) + self._counts_corrupt
        self._arrives = deque([None] * _CHECK_CYCLES)
        return missed

    def check(self, cycle: int, other: "Side") -> int | None:
        """Compare the outputs of a cycle; gives the flit that leaves."""
        self._check_session(cycle, other)
        arrived = self._arrives.popleft()
        self._counts_corrupt = arrived is not None and arrived[1]
        before = self._acknowledged
        if arrived is not None:
            self._arrive(*arrived)
        if self._acknowledged >= before:
            self._seen = max(self._seen, before)
        self._check_delivery(cycle, other)
        self._went_back |= self.value("replays") != self._replays
        leaves = self._check_send(other)
        waits = self._taken - self._base
        assert waits <= LINK.replay_depth, f"{self._name} has taken {waits} that are not there"
        cover("all that is kept waits for an acknowledgement", waits == LINK.replay_depth)
        room = other.number(len(self.received)) + LINK.receive_depth
        cover("receive buffer full", self.awaited == room)
        takes = self.value("packets__0__ready")
        assert not takes or self.open, f"{self._name} takes a packet without a session"
        if self._offered is not None and takes:
            self.sent.append((cycle, self._offered))
            self._offered = None
        self._cycles += 1
        return leaves

    def _check_session(self, cycle: int, other: "Side") -> None:
        """It ends where it must, and is reported if the other side ended it."""
        was_open, is_open = self.open, bool(self.value("open"))
        if is_open and not was_open:
            self.opened = cycle
            self._begin()
            self._replays = self.value("replays")
        ends, by_itself = was_open and not is_open, self._restarted
        self._restarted = False
        if not is_open:
            self.opened = None
        if by_itself:
            self._restart_in = cycle
        assert not (by_itself and self.open), f"{self._name} goes on after a restart"
        if ends:
            cover("kept packets lost with their session", len(self.sent) > len(other.received))
        if ends and not by_itself:
            self._lost_in = cycle
        elif self._lost_in is not None:
            late = cycle - self._lost_in
            assert late <= 1, f"{self._name} does not report that the other side began anew"
        if self.value("error__valid"):
            code = ErrorCode(_REPORT.named(self.value("error__report"))["code"])
            self.errors.append((cycle, code))
            if code == ErrorCode.LINK_RESET:
                # A restart in the same cycle hides that the other side ended the session, too.
                hidden = self._restart_in is not None and cycle <= self._restart_in + 1
                assert self._lost_in is not None or hidden, f"{self._name} reports no restart"
                cover("the other side began anew")
                self._lost_in = None
        if not (was_open or is_open):
            assert self.told() == _NOTHING, f"{self._name} is told something without a session"

    def _check_delivery(self, cycle: int, other: "Side") -> None:
        """The next packet, and what was told before it."""
        offered, offers = self._offers, bool(self.value("o__0__valid"))
        self._offers = offers and not self._ready
        assert not offers or self.open or offered, f"{self._name} offers what is of no session"
        if not (offers and self._ready):
            return
        packet, number = self.value("o__0__payload"), len(self.received)
        assert number < len(other.sent), f"{self._name} delivers what was not sent"
        wanted = other.sent[number][1]
        assert packet == wanted, f"{self._name} delivers {packet:#x} for {wanted:#x}"
        cover("delivered after the session", not self.open)
        if self.open:
            before = other.told_before(number)
            assert self.told() == before, f"{self._name} is told {self.told()}, not {before}"
            cover(
                "control word between packets", number and before != other.told_before(number - 1)
            )
        self.received.append((cycle, packet))

    def number(self, packet: int) -> int:
        """Of a packet; the next new one if it has none yet."""
        return self._numbers[packet] if packet < len(self._numbers) else len(self._items)

    def told_before(self, packet: int) -> tuple[int, ...]:
        """What it told before it sent a packet of this session."""
        return self._before[packet]

    def _check_send(self, other: "Side") -> int | None:
        sends = self.value("send__valid")
        cover("flit waits for the wire", sends and self._busy)
        self._check_silence(other, bool(sends))
        if not sends or self._busy:
            return None
        leaves = self.value("send__payload")
        flit = FLIT.named(leaves)
        assert not flit["body_reserved"]
        control = _control_of(flit)
        if flit["body_data"] or control["session"] == SessionState.OPEN.value:
            self._check_flit(flit, control, other)
            self._bases.append(self._seen)
        else:
            assert not control["told"], f"{self._name} tells a word without a session"
        return leaves

    def _check_silence(self, other: "Side", sends: bool) -> None:
        """What is new is told soon, and how things stand from time to time."""
        if self._busy:
            return
        name = self._name
        self._silent = 0 if sends else self._silent + 1
        assert self._silent <= _SILENT_CYCLES, f"{name} sends nothing"
        if not self.open:
            return
        if not sends:
            cover("nothing new to tell")
            acknowledge, limit = self._to_tell[0]
            assert self._told >= acknowledge, f"{name} does not acknowledge {acknowledge}"
            assert self._told_limit >= limit, f"{name} does not tell of room up to {limit}"
        left = min(other.number(len(self.received)), self.awaited)
        self._to_tell.append((self.awaited, left + LINK.receive_depth))

    def _check_flit(self, flit: dict[str, int], control: dict[str, int], other: "Side") -> None:
        """It carries what has its number, into room, and tells nothing that is not so."""
        name = self._name
        self._told += (flit["body_acknowledge"] - self._told) % _NUMBERS
        assert self._told <= self.awaited, f"{name} acknowledges what has not arrived"
        self._told_limit += (flit["body_limit"] - self._told_limit) % _NUMBERS
        room = other.number(len(self.received)) + LINK.receive_depth
        assert self._told_limit <= room, f"{name} gives credits for {self._told_limit} of {room}"
        cover("numbers went around", self._told >= _NUMBERS)
        missing = flit["body_missing"]
        assert not missing or self._told in self._missed, f"{name} misses what was not sent"
        cover("one is missing", missing)
        upcoming = len(self._items)
        if not (flit["body_data"] or control["told"]):
            cover("credits exhausted", upcoming == self._limit < self._taken)
            back = (upcoming - flit["body_sequence"]) % _NUMBERS
            assert back <= LINK.replay_depth, f"{name} says that it sends {back} before the next"
            return
        back = (upcoming - flit["body_sequence"]) % _NUMBERS
        assert back <= LINK.replay_depth, f"{name} sends {back} before the next one"
        number = upcoming - back
        assert number < self._limit, f"{name} sends more than there is room for"
        if not back:
            self._number(flit, control)
        item = _PACKET.pack([flit[field] for field in _BODY_PACKET])
        assert item == self._items[number], f"{name} sends something else as {number}"
        is_packet = number in self._numbers[-2 * LINK.replay_depth :]
        assert is_packet == flit["body_data"], f"{name} sends a word for a packet as {number}"
        # In order, but for going back, and for what was acknowledged after it had gone back.
        assert number <= max(self._last + 1, self._base), f"{name} leaves out some before {number}"
        assert number > self._last or self._went_back, f"{name} sends {number} again, for nothing"
        assert number >= self._bases[0], f"{name} sends {number} again, which has arrived"
        cover("sent again", back)
        cover("control word sent again", back and control["told"] and not is_packet)
        self._last = number

    def _number(self, flit: dict[str, int], control: dict[str, int]) -> None:
        """Give the next number to the next packet, or to a word that was to be told by then."""
        name, packet = self._name, len(self._numbers)
        if flit["body_data"]:
            assert packet < len(self.sent), f"{name} sends what it has not been given"
            self._before.append(tuple(word for _, word in self._last_words))
            self._numbers.append(len(self._items))
            self._items.append(self.sent[packet][1])
            return
        cover("control word sent")
        context = control["context"]
        word = _WORD.pack([control[f"word_{field}"] for field in _WORD.names])
        since, before = self._last_words[context]
        told_since = self._told_since[context]
        wanted = [cycle for cycle, value in told_since if value == word]
        assert wanted, f"{name} tells what was not to be told"
        assert wanted[-1] >= since, f"{name} tells {word:#x} after something newer"
        changed = any(cycle > since and value != before for cycle, value in told_since)
        assert word != before or changed, f"{name} tells {word:#x} again, for nothing"
        # What was taken by the first cycle in which it was to be told goes before it.
        first = min(cycle for cycle in wanted if cycle >= since)
        early = sum(cycle <= first for cycle, _ in self.sent[packet:])
        assert not early, f"{name} tells {word:#x} before {early} packets"
        self._last_words[context] = (first, word)
        self._items.append(_PACKET.pack([flit[field] for field in _BODY_PACKET]))

    def _arrive(self, body: dict[str, int], corrupt: bool) -> None:
        """What the endpoint may know from now on."""
        data, control = body["body_data"], _control_of(body)
        if corrupt:
            cover("corrupt packet dropped", data)
            cover("corrupt control flit dropped", not data)
            return
        if not self.open or not (data or control["session"] == SessionState.OPEN.value):
            return
        ahead = (body["body_sequence"] - self.awaited) % _NUMBERS
        if 0 < ahead < _NUMBERS // 2:
            self._missed.add(self.awaited)
        if data or control["told"]:
            self.awaited += not ahead
            cover("packet behind a gap dropped", 0 < ahead < _NUMBERS // 2)
            cover("duplicate dropped", ahead >= _NUMBERS // 2)
        ahead = (body["body_acknowledge"] - self._base) % _NUMBERS
        if ahead <= self._taken - self._base:
            self._base += ahead
            self._acknowledged = self._base
            cover("acknowledged beyond what was sent again", self._base > self._last + 1)
        else:
            self._acknowledged = self._base + ahead - _NUMBERS
            cover("late acknowledgement")
        ahead = (body["body_limit"] - self._limit) % _NUMBERS
        if ahead < _NUMBERS // 2:
            self._limit += ahead
        else:
            cover("late limit")

    def finish(self) -> None:
        """Offer and tell nothing more, take everything."""
        self.most = len(self.sent) + (self._offered is not None)
        self.take, self.tell = 1.0, 0.0

    def done(self, other: "Side") -> bool:
        """Whether everything has arrived there."""
        return len(self.sent) == self.most == len(other.received) and other.told() == self.tells()


def _control_of(flit: dict[str, int]) -> dict[str, int]:
    """What it has in place of a packet."""
    packet = _PACKET.pack([flit[field] for field in _BODY_PACKET])
    return _CONTROL.named(packet & (1 << _CONTROL.width) - 1)
