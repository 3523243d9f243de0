# amaranth: UnusedElaboratable=no
"""Numbers packets, keeps them until they are acknowledged, and sends them again if need be."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.split_memory import SplitMemory
from rtl.lib.wide_counter import WideCounter

from .layouts import Numbered, ReverseState
from .parameters import LinkParameters

__all__ = ["LinkSender"]


class LinkSender(wiring.Component):
    """The sending half of a channel's flow: go-back-N.

    A packet that is taken in cycle *t* is at ``o`` in *t + 2* at the earliest; one per cycle. A
    reverse state is looked at in every second cycle only: each one tells all that those before it
    told.

    It goes back when the other side tells that the oldest packet is missing, once for each oldest
    packet: until that arrives, the other side tells the same. What is lost again is sent again
    after the timeout.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Of a packet.
    link : :class:`LinkParameters`

    Members
    -------
    packets : In(stream)
    o : Out(stream of :class:`Numbered`)
        Without a packet to send, its ``sequence`` is the next one's or, in the cycle after that
        changes, what it was.
    reverse : In(stream of :class:`ReverseState`)
        From the other side. Always taken; any of it may be missing, late or repeated.
    progress : Out(1)
        Packets were acknowledged in this cycle.
    waiting : Out(1)
        Packets that the other side has room for are not acknowledged.
    replay : Out(1)
        In this cycle it goes back to the oldest packet that is not acknowledged.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    replay_memory : SplitMemory
        The packets that are kept, one after another.
    base, upcoming, head : Signal
        Numbers of the oldest packet that is kept, of the next to send and of the next to take;
        ``base <= upcoming <= head``.
    base_row, upcoming_row, head_row : Signal
        Their rows.
    limit : Signal
        The first number that the other side has no room for; ``upcoming <= limit``.
    kept : Signal
        Packets from ``base`` to ``head``.
    told : Signal
        The last reverse state.
    fresh : Signal
        It has not been looked at.
    decides : Signal
        This is the second of two cycles, which decides on what the first has prepared.
    candidate : Signal
        The reverse state that is decided on.
    distance, ahead : Signal
        From ``base`` to its acknowledgement, and to ``upcoming``.
    behind : Signal
        Its limit lies before ``limit``.
    went_back : Signal
        It has gone back to ``base`` already.
    send, accept, again : Signal
        In this cycle a packet is sent; packets are acknowledged; the oldest one is missing, which
        was not known before.
    """

    def __init__(self, shape, link: LinkParameters):
        self._link = link
        super().__init__(
            {
                "packets": In(stream.Signature(shape)),
                "o": Out(stream.Signature(Numbered(shape, link))),
                "reverse": In(stream.Signature(ReverseState(link), always_ready=True)),
                "progress": Out(1),
                "waiting": Out(1),
                "replay": Out(1),
                "awake": Out(1),
            }
        )
        number, depth = link.sequence_bits, link.replay_depth
        self.replay_memory = SplitMemory(shape, depth=depth)
        self.base, self.base_row = Signal(number), Signal(range(depth))
        self.upcoming, self.upcoming_row = Signal(number), Signal(range(depth))
        self.head, self.head_row = Signal(number), Signal(range(depth))
        self.limit = Signal(number)
        self.kept = Signal(range(depth + 1))
        self.told = Signal(ReverseState(link))
        self.fresh = Signal()
        self.decides = Signal()
        self.candidate = Signal(ReverseState(link))
        self.distance = Signal(number)
        self.ahead = Signal(range(depth + 1))
        self.behind = Signal()
        self.went_back = Signal()
        self.send = Signal()
        self.accept = Signal()
        self.again = Signal()

    def elaborate(self, platform):
        m = Module()
        m.submodules.replay_memory = self.replay_memory
        m.submodules.timer = timer = WideCounter(self._link.timeout_cycles.bit_length())
        expired = timer.o[-1]
        put = self._put(m)
        moves = self._send(m)
        self._time(m, timer, expired)
        hears = self._listen(m, expired)
        self._decide(m)
        kept, waiting = Signal.like(self.kept), Signal()
        m.d.comb += [
            kept.eq(
                Mux(self.accept, self.kept - self.distance[: len(kept)] + put, self.kept + put)
            ),
            waiting.eq((self.kept != 0) & (self.base != self.limit)),
            self.awake.eq(put | moves | hears | timer.awake | (waiting != self.waiting)),
        ]
        m.d.sync += [self.kept.eq(kept), self.waiting.eq(waiting)]
        return m

    def _next(self, row: Signal):
        return Mux(row == self._link.replay_depth - 1, 0, row + 1)

    def _put(self, m: Module) -> Signal:
        """Take a packet, and keep it."""
        put, memory = Signal(), self.replay_memory
        m.d.comb += [
            self.packets.ready.eq(self.kept != self._link.replay_depth),
            put.eq(self.packets.valid & self.packets.ready),
            memory.write.eq(put),
            memory.write_row.eq(self.head_row),
            memory.write_data.eq(self.packets.p),
        ]
        with m.If(put):
            m.d.sync += [self.head.eq(self.head + 1), self.head_row.eq(self._next(self.head_row))]
        return put

    def _send(self, m: Module) -> Signal:
        """The upcoming packet, if there is one that the other side has room for. Gives whether
        anything changes."""
        upcoming, row, memory = self.upcoming, self.upcoming_row, self.replay_memory
        free, moves = Signal(), Signal()
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            memory.read.eq(free & (upcoming != self.head) & (upcoming != self.limit)),
            memory.read_row.eq(row),
            self.send.eq(memory.reads),
            self.o.p.packet.eq(memory.data),
            moves.eq(free & (memory.read | self.o.valid | (self.o.p.sequence != upcoming))),
        ]
        with m.If(free):
            m.d.sync += [self.o.valid.eq(self.send), self.o.p.sequence.eq(upcoming)]
        with m.If(self.send):
            m.d.sync += [upcoming.eq(upcoming + 1), row.eq(self._next(row))]
        return moves

    def _time(self, m: Module, timer: WideCounter, expired) -> None:
        """Go back also if nothing is acknowledged for too long."""
        rests = self.upcoming == self.base
        m.d.comb += [
            self.replay.eq(self.again | (self.decides & ~self.accept & expired)),
            timer.step.eq(~expired & ~rests),
            timer.clear.eq(self.accept | self.replay | rests),
        ]

    def _listen(self, m: Module, expired) -> Signal:
        """Keep what the other side told last, and compare it in the first of two cycles. Gives
        whether there is something to look at."""
        looks, hears = Signal(), Signal()
        m.d.comb += [
            looks.eq(~self.decides & (self.fresh | expired)),
            hears.eq(self.reverse.valid | self.fresh | expired | self.decides),
        ]
        m.d.sync += self.decides.eq(looks)
        with m.If(self.reverse.valid):
            m.d.sync += [self.told.eq(self.reverse.p), self.fresh.eq(1)]
        with m.Elif(looks):
            m.d.sync += self.fresh.eq(0)
        with m.If(looks):
            m.d.sync += [
                self.candidate.eq(self.told),
                self.distance.eq(self.told.acknowledge - self.base),
                self.ahead.eq(self.upcoming - self.base),
                self.behind.eq((self.told.limit - self.limit)[len(self.limit) - 1]),
            ]
        return hears

    def _decide(self, m: Module) -> None:
        """Act on it in the second cycle."""
        candidate, distance, depth = self.candidate, self.distance, self._link.replay_depth
        is_new = Signal()
        sum_row = Signal(range(2 * depth))
        base_row = Signal.like(self.base_row)  # of what is acknowledged
        m.d.comb += [
            is_new.eq(distance != 0),
            self.accept.eq(self.decides & is_new & (distance <= self.kept)),
            self.progress.eq(self.accept),
            self.again.eq(
                (self.accept | (self.decides & ~is_new & ~self.went_back))
                & candidate.missing
                & (self.ahead > distance)
            ),
            sum_row.eq(self.base_row + distance[: len(self.kept)]),
            base_row.eq(Mux(sum_row >= depth, sum_row - depth, sum_row)),
        ]
        with m.If(self.accept):
            m.d.sync += [
                self.base.eq(candidate.acknowledge),
                self.base_row.eq(base_row),
                self.went_back.eq(0),
            ]
            # After going back, what was on its way then may be acknowledged beyond upcoming.
            with m.If(distance > self.ahead):
                self._go(m, candidate.acknowledge, base_row)
        with m.If(self.replay):
            m.d.sync += self.went_back.eq(1)
            self._go(
                m,
                Mux(self.accept, candidate.acknowledge, self.base),
                Mux(self.accept, base_row, self.base_row),
            )
        # A limit that lies behind is an old one.
        with m.If(self.decides & ~self.behind):
            m.d.sync += self.limit.eq(candidate.limit)

    def _go(self, m: Module, number, row) -> None:
        """Send this one next."""
        m.d.sync += [self.upcoming.eq(number), self.upcoming_row.eq(row)]
