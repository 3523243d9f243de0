"""One endpoint of the bench: its inputs, and the checks of its flits, deliveries and reports."""

import random
from collections import deque

from rtl.interface.encodings import ErrorCode
from rtl.interface.layouts import ErrorReport, LinkPacket
from rtl.link.layouts import ControlWord, SessionState
from tb.cover import cover, expect
from tb.link_endpoint.dut import LINK, PARAMETERS
from tb.link_endpoint.frames import FLIT, PACKET, ArrivingFrames, LeavingFrames, control_of
from tb.link_endpoint.traffic import Traffic
from tb.payload import Fields
from tb.stream import offer

__all__ = ["WORD_BITS", "Side"]

_REPORT = Fields(ErrorReport(PARAMETERS))
_WORD = Fields(ControlWord(PARAMETERS))
WORD_BITS = _WORD.width
"""Fields of a context's control word."""
_BODY_PACKET = [f"body_packet_{name}" for name in PACKET.names]
_NUMBERS = 1 << LINK.sequence_bits
_LATE_CYCLES = 16  # from an acknowledgement to the flits that report it, if the wire is free
_SILENT_CYCLES = LINK.idle_cycles + 4  # between two flits that leave, if the wire is free
_CHECK_CYCLES = 3  # from the arrival of a flit to the cycle in which it takes effect
_NOTHING = (0,) * LINK.contexts

expect(
    "sent again",
    "credits exhausted",
    "all that is kept waits for an acknowledgement",
    "corrupt packet dropped",
    "corrupt control flit dropped",
    "duplicate dropped",
    "new packets behind repeated ones",
    "packet behind a gap dropped",
    "late acknowledgement",
    "acknowledged beyond what was sent again",
    "late limit",
    "numbers went around",
    "flit waits for the wire",
    "nothing new to send",
    "one is missing",
    "receive buffer full",
    "control word sent",
    "control word sent again",
    "control word between packets",
    "kept packets lost with their session",
    "delivered after the session",
    "session restarted by the peer",
)


class Side:
    """Endpoint with its packets and their sequence numbers.

    The sequence numbers follow ``docs/link.md``, but do not wrap. Packets and numbers belong to a
    session: a new session starts with none, and at 0.

    Attributes
    ----------
    offer, take, changes : float
        Probabilities, per cycle, that a packet is offered, that a packet is accepted, and that a
        control word changes.
    most : int or None
        Total number of packets to offer.
    sent, received : list of tuple
        Cycle and packet.
    errors : list of tuple
        Cycle and code of every error, of all sessions.
    opened : int or None
        Cycle in which the open session began; None without one.
    """

    def __init__(self, dut, name: str, rng: random.Random):
        self._dut, self._name, self._rng = dut, name, rng
        self.offer, self.take, self.changes = 1.0, 1.0, 0.0
        self.most: int | None = None
        self.errors: list[tuple[int, ErrorCode]] = []
        self.opened: int | None = None
        self.traffic = Traffic(rng, LinkPacket(PARAMETERS))
        self.arriving = ArrivingFrames()
        self._leaving = LeavingFrames()
        self._offered: int | None = None
        # Each context's control word, and its history: the cycle of each change, and the word.
        self._words = list(_NOTHING)
        self._word_history = [[(0, 0)] for _ in _NOTHING]
        self._cycles = 0  # since reset
        self._silent = 0  # cycles with a free wire
        self._restarted = False  # the session ended by a restart in the last cycle
        self._offers = False  # a packet was offered in the last cycle and not taken
        self._restart_in: int | None = None  # cycle of its last restart
        self._replays = 0  # when the session began
        # Flits that arrived in the last cycles, and whether they were changed.
        self._arrives: deque[tuple[dict[str, int], bool] | None] = deque([None] * _CHECK_CYCLES)
        self._lost_in: int | None = None  # cycle of the peer's last restart
        self._begin()

    def _begin(self) -> None:
        """Begin a session."""
        self.sent: list[tuple[int, int]] = []
        self.received: list[tuple[int, int]] = []
        # Sent: the packet or word of each number; each packet's number, and the control words
        # before it; the last number, and the last acknowledgement and credit limit.
        self._items: list[int] = []
        self._numbers: list[int] = []
        self._before: list[tuple[int, ...]] = []
        self._last_words = [(0, 0)] * LINK.contexts  # cycle, and word
        self._last, self._sent_acknowledge, self._sent_limit = -1, 0, LINK.receive_depth
        # Received: expected number, acknowledged number, and credit limit.
        self.awaited, self._base, self._limit = 0, 0, 0
        # The last acknowledgement, and the acknowledgement that the endpoint has certainly read: it
        # samples in every second cycle, and an older flit may have arrived by then.
        self._acknowledged, self._seen = 0, 0
        # The acknowledgement that was certainly read, before each of the last cycles with a free
        # wire.
        self._bases: deque[int] = deque([0] * _LATE_CYCLES, _LATE_CYCLES)
        # The acknowledgement and the credit limit that must have been sent by now.
        self._due: deque[tuple[int, int]] = deque([(0, 0)] * _LATE_CYCLES, _LATE_CYCLES)
        self._missed: set[int] = set()  # expected numbers for which a later number has arrived
        self._went_back = False

    @property
    def open(self) -> bool:
        """A session is open."""
        return self.opened is not None

    @property
    def _taken(self) -> int:
        """Number of packets and control words with a sequence number."""
        return len(self.sent) + len(self._items) - len(self._numbers)

    def _port(self, name: str):
        return getattr(self._dut, f"{self._name}__{name}")

    def value(self, name: str) -> int:
        """Return the value of a port."""
        return int(self._port(name).value)

    def peer_words(self) -> tuple[int, ...]:
        """Return the peer's control word of each context, as this side outputs it."""
        words = self.value("peer_words")
        return tuple(
            words >> _WORD.width * context & (1 << _WORD.width) - 1
            for context in range(len(_NOTHING))
        )

    def local_words(self) -> tuple[int, ...]:
        """Return the control word of each context that this side is to send."""
        return tuple(self._words)

    def set_word(self, cycle: int, context: int, word: int) -> None:
        """Set a context's control word from this cycle on."""
        self._words[context] = word
        self._word_history[context].append((cycle, word))

    def drive(self, cycle: int, arrives: int | None, *, spoiled: bool, busy: bool) -> None:
        """Set the inputs of a cycle."""
        rng = self._rng
        left = self.most is None or len(self.sent) < self.most
        if self._offered is None and left and rng.random() < self.offer:
            self._offered = self.traffic.next()
        if rng.random() < self.changes:
            context = rng.randrange(LINK.contexts)
            # A random word, or the current one with a bit inverted.
            near = self._words[context] ^ 1 << rng.randrange(_WORD.width)
            self.set_word(cycle, context, rng.choice([near, rng.getrandbits(_WORD.width)]))
        self._ready, self._busy = rng.random() < self.take, busy
        offer(self._dut, f"{self._name}__packets__0", self._offered)
        self._port("o__0__ready").value = int(self._ready)
        self._port("send__ready").value = int(not busy)
        offer(self._dut, f"{self._name}__receive", arrives)
        self._port("local_words").value = sum(
            word << _WORD.width * context for context, word in enumerate(self._words)
        )
        self._arrives.append(None if arrives is None else (FLIT.named(arrives), spoiled))

    def restart(self, *, reset: bool) -> None:
        """Record a restart or a reset in the last cycle."""
        self._restarted = True
        if not reset:
            return
        self._cycles = self._silent = 0
        self._lost_in, self._offers = None, False
        self._leaving.cut()
        self.arriving = ArrivingFrames()
        self._arrives = deque([None] * _CHECK_CYCLES)

    def check(self, cycle: int, other: "Side") -> int | None:
        """Compare the outputs of a cycle. Return the flit that leaves."""
        self._check_session(cycle, other)
        arrived = self._arrives.popleft()
        before = self._acknowledged
        if arrived is not None:
            flit, spoiled = arrived
            intact, flits = self.arriving.arrive(flit, spoiled=spoiled)
            if intact:
                self._arrive(flits)
            elif intact is False:
                cover("corrupt packet dropped", flits[0]["body_data"])
                cover("corrupt control flit dropped", not flits[0]["body_data"])
        if self._acknowledged >= before:
            self._seen = max(self._seen, before)
        self._check_delivery(cycle, other)
        self._went_back |= self.value("replays") != self._replays
        leaves = self._check_send(other)
        waits = self._taken - self._base
        assert waits <= LINK.replay_depth, f"{self._name} has {waits} unacknowledged"
        cover("all that is kept waits for an acknowledgement", waits == LINK.replay_depth)
        limit = other.number(len(self.received)) + LINK.receive_depth
        cover("receive buffer full", self.awaited == limit)
        takes = self.value("packets__0__ready")
        assert not takes or self.open, f"{self._name} takes a packet without a session"
        if self._offered is not None and takes:
            self.sent.append((cycle, self._offered))
            self._offered = None
        self._cycles += 1
        return leaves

    def _check_session(self, cycle: int, other: "Side") -> None:
        """Check that the session ends when it must, and that an end by the peer is reported."""
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
        assert not (by_itself and self.open), f"{self._name} keeps its session after a restart"
        if ends:
            cover("kept packets lost with their session", len(self.sent) > len(other.received))
        if ends and not by_itself:
            self._lost_in = cycle
        elif self._lost_in is not None:
            late = cycle - self._lost_in
            assert late <= 1, f"{self._name} does not report the peer's restart"
        if self.value("error__valid"):
            code = ErrorCode(_REPORT.named(self.value("error__report"))["code"])
            self.errors.append((cycle, code))
            if code == ErrorCode.LINK_RESET:
                # A restart in the same cycle hides an end of the session by the peer.
                hidden = self._restart_in is not None and cycle <= self._restart_in + 1
                assert self._lost_in is not None or hidden, (
                    f"{self._name} reports a restart without one"
                )
                cover("session restarted by the peer")
                self._lost_in = None
        if not (was_open or is_open):
            assert self.peer_words() == _NOTHING, (
                f"{self._name} outputs the peer's words without a session"
            )

    def _check_delivery(self, cycle: int, other: "Side") -> None:
        """Check the delivered packet, and the peer's control words with it."""
        offered, offers = self._offers, bool(self.value("o__0__valid"))
        self._offers = offers and not self._ready
        assert not offers or self.open or offered, f"{self._name} offers a packet of no session"
        if not (offers and self._ready):
            return
        packet, number = self.value("o__0__payload"), len(self.received)
        assert number < len(other.sent), f"{self._name} delivers a packet that was not sent"
        wanted = other.sent[number][1]
        assert packet == wanted, f"{self._name} delivers {packet:#x} for {wanted:#x}"
        cover("delivered after the session", not self.open)
        if self.open:
            before = other.words_before(number)
            assert self.peer_words() == before, (
                f"{self._name} outputs {self.peer_words()}, not {before}"
            )
            cover(
                "control word between packets", number and before != other.words_before(number - 1)
            )
        self.received.append((cycle, packet))

    def number(self, packet: int) -> int:
        """Return the sequence number of a packet; a new packet gets the next number."""
        return self._numbers[packet] if packet < len(self._numbers) else len(self._items)

    def words_before(self, packet: int) -> tuple[int, ...]:
        """Return the control words that were sent before a packet of this session."""
        return self._before[packet]

    def _check_send(self, other: "Side") -> int | None:
        sends = self.value("send__valid")
        cover("flit waits for the wire", sends and self._busy)
        self._check_silence(other, bool(sends))
        assert sends or not self._leaving.goes_on, f"{self._name} pauses inside a frame"
        if not sends or self._busy:
            return None
        leaves = self.value("send__payload")
        flit = self._leaving.leave(FLIT.named(leaves))
        assert not flit["body_reserved"]
        control = control_of(flit)
        if flit["body_data"] or control["session"] == SessionState.OPEN.value:
            self._check_flit(flit, control, other)
            self._bases.append(self._seen)
        else:
            assert not control["has_word"], f"{self._name} sends a word without a session"
        return leaves

    def _check_silence(self, other: "Side", sends: bool) -> None:
        """Check the bounds on the time to a new acknowledgement or limit, and between flits."""
        if self._busy:
            return
        name = self._name
        self._silent = 0 if sends else self._silent + 1
        assert self._silent <= _SILENT_CYCLES, f"{name} sends nothing"
        if not self.open:
            return
        if not sends:
            cover("nothing new to send")
            acknowledge, limit = self._due[0]
            assert self._sent_acknowledge >= acknowledge, (
                f"{name} does not acknowledge {acknowledge}"
            )
            assert self._sent_limit >= limit, f"{name} does not send the limit {limit}"
        left = min(other.number(len(self.received)), self.awaited)
        self._due.append((self.awaited, left + LINK.receive_depth))

    def _check_flit(self, flit: dict[str, int], control: dict[str, int], other: "Side") -> None:
        """Check a flit's packet or word, sequence number, credit, acknowledgement and limit."""
        if flit["first"]:
            self._check_state(flit, other)
        self._check_item(flit, control)

    def _check_state(self, flit: dict[str, int], other: "Side") -> None:
        """Check a header's acknowledgement and limit."""
        name = self._name
        self._sent_acknowledge += (flit["body_acknowledge"] - self._sent_acknowledge) % _NUMBERS
        assert self._sent_acknowledge <= self.awaited, f"{name} acknowledges too much"
        self._sent_limit += (flit["body_limit"] - self._sent_limit) % _NUMBERS
        limit = other.number(len(self.received)) + LINK.receive_depth
        assert self._sent_limit <= limit, f"{name} gives credits to {self._sent_limit} of {limit}"
        cover("numbers went around", self._sent_acknowledge >= _NUMBERS)
        missing = flit["body_missing"]
        assert not missing or self._sent_acknowledge in self._missed, (
            f"{name} reports a loss without one"
        )
        cover("one is missing", missing)

    def _check_item(self, flit: dict[str, int], control: dict[str, int]) -> None:
        """Check a flit's packet or word, sequence number and credit."""
        name, upcoming = self._name, len(self._items)
        if not (flit["body_data"] or control["has_word"]):
            cover("credits exhausted", upcoming == self._limit < self._taken)
            back = (upcoming - flit["body_sequence"]) % _NUMBERS
            assert back <= LINK.replay_depth, f"{name} announces {back} before the next one"
            return
        back = (upcoming - flit["body_sequence"]) % _NUMBERS
        assert back <= LINK.replay_depth, f"{name} sends {back} before the next one"
        number = upcoming - back
        assert number < self._limit, f"{name} sends without a credit"
        if not back:
            self._number(flit, control)
        item = PACKET.pack([flit[field] for field in _BODY_PACKET])
        assert item == self._items[number], f"{name} sends something else as {number}"
        is_packet = number in self._numbers[-2 * LINK.replay_depth :]
        assert is_packet == flit["body_data"], f"{name} sends a word for a packet as {number}"
        # In order, except for a replay, and for an acknowledgement that arrived during one.
        assert number <= max(self._last + 1, self._base), f"{name} omits numbers before {number}"
        assert number > self._last or self._went_back, f"{name} replays {number} without cause"
        assert number >= self._bases[0], f"{name} replays {number} after its acknowledgement"
        cover("sent again", back)
        cover("control word sent again", back and control["has_word"] and not is_packet)
        self._last = number

    def _number(self, flit: dict[str, int], control: dict[str, int]) -> None:
        """Give the next number to the next packet, or to a control word that was to be sent."""
        name, packet = self._name, len(self._numbers)
        if flit["body_data"]:
            assert packet < len(self.sent), f"{name} sends a packet that was not offered"
            self._before.append(tuple(word for _, word in self._last_words))
            self._numbers.append(len(self._items))
            self._items.append(self.sent[packet][1])
            return
        cover("control word sent")
        context = control["context"]
        word = _WORD.pack([control[f"word_{field}"] for field in _WORD.names])
        since, before = self._last_words[context]
        history = self._word_history[context]
        wanted = [cycle for cycle, value in history if value == word]
        assert wanted, f"{name} sends a word that it never had"
        assert wanted[-1] >= since, f"{name} sends {word:#x} after a newer word"
        changed = any(cycle > since and value != before for cycle, value in history)
        assert word != before or changed, f"{name} sends {word:#x} again, unchanged"
        # Packets that were taken by the cycle of the change precede the word.
        first = min(cycle for cycle in wanted if cycle >= since)
        early = sum(cycle <= first for cycle, _ in self.sent[packet:])
        assert not early, f"{name} sends {word:#x} before {early} packets"
        self._last_words[context] = (first, word)
        self._items.append(PACKET.pack([flit[field] for field in _BODY_PACKET]))

    def _arrive(self, flits: list[dict[str, int]]) -> None:
        """Update the endpoint's expected state by an intact frame."""
        body, control = flits[0], control_of(flits[0])
        data = body["body_data"]
        if not self.open or not (data or control["session"] == SessionState.OPEN.value):
            return
        if data or control["has_word"]:
            numbers = [(flit["body_sequence"] - self.awaited) % _NUMBERS for flit in flits]
            new = [ahead for ahead in numbers if ahead < _NUMBERS // 2]
            cover("packet behind a gap dropped", new and new[0] > 0)
            cover("duplicate dropped", not new)
            cover("new packets behind repeated ones", 0 < len(new) < len(numbers))
            self._miss(numbers[0] if new == numbers else 0)
            self.awaited += len(new) if new[:1] == [0] else 0
        else:
            self._miss((body["body_sequence"] - self.awaited) % _NUMBERS)
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

    def _miss(self, ahead: int) -> None:
        """Record that a packet with a number ahead of the awaited one was sent."""
        if 0 < ahead < _NUMBERS // 2:
            self._missed.add(self.awaited)

    def finish(self) -> None:
        """Offer no more packets, change no word, and take every packet."""
        self.most = len(self.sent) + (self._offered is not None)
        self.take, self.changes = 1.0, 0.0

    def done(self, other: "Side") -> bool:
        """Return whether every packet and word has arrived at the peer."""
        return (
            len(self.sent) == self.most == len(other.received)
            and other.peer_words() == self.local_words()
        )
