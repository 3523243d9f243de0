"""Sender of a link flow: numbers packets, keeps them until acknowledged, and replays them."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.lib.split_memory import SplitMemory
from rtl.lib.wide_counter import WideCounter

from .layouts import Numbered, ReverseState, Stored
from .parameters import LinkParameters

__all__ = ["LinkSender"]


class LinkSender(wiring.Component):
    """Sending half of a channel's flow: go-back-N.

    A packet that is taken in cycle *t* is at ``o`` in *t + 2* at the earliest, and one packet
    leaves per cycle. A reverse state is processed in every second cycle only, since each state
    includes the information of the states before it.

    The sender goes back when the other side reports the oldest packet as missing, once for each
    oldest packet, because the report repeats until the packet arrives. A packet that is lost again
    is sent again after the timeout.

    Parameters
    ----------
    shape : :class:`~amaranth.hdl.ShapeLike`
        Packet.

    Members
    -------
    packets : In(stream of :func:`Stored`)
    o : Out(stream of :func:`Numbered`)
        Numbered packets. A packet without ``first`` continues the run of the packet that was taken
        last, and has the next number; the flits have not moved on since. Without a packet to send,
        ``sequence`` is the number of the next packet or, in the cycle after that number changes,
        its previous value.
    advance : In(1)
        The flits behind ``o`` move on in this cycle: the frame of the packet that was taken last
        ends, unless a packet without ``first`` is taken. Set whenever a packet is taken.
    reverse : In(stream of :class:`ReverseState`)
        State of the other side, always accepted; states may be missing, late or repeated.
    progress : Out(1)
        Packets were acknowledged in this cycle.
    waiting : Out(1)
        Packets for which the other side has space are not acknowledged.
    replay : Out(1)
        The sender goes back to the oldest unacknowledged packet in this cycle.
    holds : Out(1)
        Packets are not acknowledged.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    replay_memory : SplitMemory
        Unacknowledged packets, in order.
    base, upcoming, head : Signal
        Numbers of the oldest packet that is kept, of the next to send and of the next to take;
        ``base <= upcoming <= head``.
    base_row, upcoming_row, head_row : Signal
        Rows of these packets.
    straight, follows, joins : Signal
        ``upcoming`` follows the packet that was read last; the packet at ``o`` follows the one that
        was read before it; the frame of the packet that was taken last may go on.
    limit : Signal
        First number for which the other side has no space; ``upcoming <= limit``.
    kept : Signal
        Number of packets from ``base`` to ``head``.
    last_reverse : Signal
        Last reverse state.
    fresh : Signal
        The last reverse state has not been processed.
    decides : Signal
        Second of the two cycles that process a reverse state.
    candidate : Signal
        Reverse state that is being processed.
    distance, ahead : Signal
        Distance from ``base`` to the acknowledgement of ``candidate``, and to ``upcoming``.
    behind : Signal
        The limit of ``candidate`` lies before ``limit``.
    went_back : Signal
        The sender has already gone back to ``base``.
    send, accept, again : Signal
        A packet is sent in this cycle; packets are acknowledged; the oldest packet is newly
        reported as missing.
    """

    def __init__(self, shape, link: LinkParameters):
        self._link = link
        super().__init__(
            {
                "packets": In(stream.Signature(Stored(shape))),
                "o": Out(stream.Signature(Numbered(shape, link))),
                "advance": In(1),
                "reverse": In(stream.Signature(ReverseState(link), always_ready=True)),
                "progress": Out(1),
                "waiting": Out(1),
                "replay": Out(1),
                "holds": Out(1),
                "clock_enable": Out(1),
            }
        )
        number, depth = link.sequence_bits, link.replay_depth
        self.replay_memory = SplitMemory(Stored(shape), depth=depth)
        self.base, self.base_row = Signal(number), Signal(range(depth))
        self.upcoming, self.upcoming_row = Signal(number), Signal(range(depth))
        self.head, self.head_row = Signal(number), Signal(range(depth))
        self.straight, self.follows, self.joins = Signal(), Signal(), Signal()
        self.limit = Signal(number)
        self.kept = Signal(range(depth + 1))
        self.last_reverse = Signal(ReverseState(link))
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
        reports = self._receive(m, expired)
        self._decide(m)
        kept, waiting = Signal.like(self.kept), Signal()
        m.d.comb += [
            kept.eq(
                Mux(self.accept, self.kept - self.distance[: len(kept)] + put, self.kept + put)
            ),
            self.holds.eq(self.kept != 0),
            waiting.eq(self.holds & (self.base != self.limit)),
            self.clock_enable.eq(
                put | moves | reports | timer.clock_enable | (waiting != self.waiting) | self.joins
            ),
        ]
        m.d.sync += [self.kept.eq(kept), self.waiting.eq(waiting)]
        return m

    def _next(self, row: Signal):
        return Mux(row == self._link.replay_depth - 1, 0, row + 1)

    def _put(self, m: Module) -> Signal:
        """Accept a packet into the replay memory."""
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
        """Send the upcoming packet, if the other side has space for it. Return the clock enable of
        this logic.
        """
        upcoming, row, memory = self.upcoming, self.upcoming_row, self.replay_memory
        free, moves = Signal(), Signal()
        m.d.comb += [
            free.eq(~self.o.valid | self.o.ready),
            memory.read.eq(free & (upcoming != self.head) & (upcoming != self.limit)),
            memory.read_row.eq(row),
            self.send.eq(memory.reads),
            self.o.p.item.eq(memory.data.item),
            self.o.p.first.eq(~(self.joins & self.follows & memory.data.continues)),
            moves.eq(free & (memory.read | self.o.valid | (self.o.p.sequence != upcoming))),
        ]
        with m.If(free):
            m.d.sync += [
                self.o.valid.eq(self.send),
                self.o.p.sequence.eq(upcoming),
                self.follows.eq(self.straight),
            ]
        with m.If(self.advance):
            m.d.sync += self.joins.eq(self.o.valid & self.o.ready)
        with m.If(self.send):
            m.d.sync += [
                upcoming.eq(upcoming + 1),
                row.eq(self._next(row)),
                self.straight.eq(1),
            ]
        return moves

    def _time(self, m: Module, timer: WideCounter, expired) -> None:
        """Replay also if no packet is acknowledged for too long."""
        rests = self.upcoming == self.base
        m.d.comb += [
            self.replay.eq(self.again | (self.decides & ~self.accept & expired)),
            timer.step.eq(~expired & ~rests),
            timer.clear.eq(self.accept | self.replay | rests),
        ]

    def _receive(self, m: Module, expired) -> Signal:
        """Store the last reverse state, and compare it in the first of two cycles. Return the clock
        enable of this logic.
        """
        looks, reports = Signal(), Signal()
        m.d.comb += [
            looks.eq(~self.decides & (self.fresh | expired)),
            reports.eq(self.reverse.valid | self.fresh | expired | self.decides),
        ]
        m.d.sync += self.decides.eq(looks)
        with m.If(self.reverse.valid):
            m.d.sync += [self.last_reverse.eq(self.reverse.p), self.fresh.eq(1)]
        with m.Elif(looks):
            m.d.sync += self.fresh.eq(0)
        with m.If(looks):
            m.d.sync += [
                self.candidate.eq(self.last_reverse),
                self.distance.eq(self.last_reverse.acknowledge - self.base),
                self.ahead.eq(self.upcoming - self.base),
                self.behind.eq((self.last_reverse.limit - self.limit)[len(self.limit) - 1]),
            ]
        return reports

    def _decide(self, m: Module) -> None:
        """Act on the reverse state in the second cycle."""
        candidate, distance, depth = self.candidate, self.distance, self._link.replay_depth
        is_new = Signal()
        sum_row = Signal(range(2 * depth))
        base_row = Signal.like(self.base_row)  # row of the acknowledgement
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
            # After a replay began, packets in flight may be acknowledged beyond `upcoming`.
            with m.If(distance > self.ahead):
                self._go(m, candidate.acknowledge, base_row)
        with m.If(self.replay):
            m.d.sync += self.went_back.eq(1)
            self._go(
                m,
                Mux(self.accept, candidate.acknowledge, self.base),
                Mux(self.accept, base_row, self.base_row),
            )
        # A limit that lies behind belongs to an older state.
        with m.If(self.decides & ~self.behind):
            m.d.sync += self.limit.eq(candidate.limit)

    def _go(self, m: Module, number, row) -> None:
        """Continue with this packet."""
        m.d.sync += [
            self.upcoming.eq(number),
            self.upcoming_row.eq(row),
            self.straight.eq(0),
        ]
