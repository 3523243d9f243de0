"""Flow control: which places may be updated, and which may be dispatched."""

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ProductionConfiguration
from rtl.interface.encodings import ErrorCode
from rtl.interface.signatures import ErrorSignature
from rtl.lib.wide_counter import WideCounter
from rtl.parameters import T3Parameters

__all__ = ["Window"]


class Window(wiring.Component):
    """Sliding window over the places of a production, from the oldest incomplete one on.

    Places may complete in any order; ``base`` moves over complete ones, one per cycle, from the
    cycle after their completion on. ``limit`` and ``dispatch_limit`` are registers and follow the
    state by one cycle each. Nothing is admitted before the first ``launch``.

    Parameters
    ----------
    p : :class:`T3Parameters`
        ``window_workgroups`` places are remembered.

    Members
    -------
    production : In(:func:`ProductionConfiguration`)
    launch : In(1)
        Strobe: starts a production at ``tracked_first``.
    complete, complete_place : In
        A workgroup is complete.
    own, picked : In(1)
        A complete workgroup needs no DMA; the engine took a workgroup's last command.
    limit_in : In(limit_bits)
        Limit of the downstream GPU.
    unfinished : In(1)
        Work is left, and nothing leaves in this cycle.
    base, limit : Out(limit_bits)
        Updates are accepted for ``base <= place < limit``.
    dispatch_limit : Out(limit_bits)
        Workgroups of smaller places may be dispatched.
    done : Out(1)
        Every tracked place is complete.
    error : Out(:class:`ErrorSignature`)
        TIMEOUT: for ``timeout`` cycles ``base`` has not moved or, from ``tracked_end`` on,
        something was ``unfinished``.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "production": In(ProductionConfiguration(p)),
                "launch": In(1),
                "complete": In(1),
                "complete_place": In(p.place_bits),
                "own": In(1),
                "picked": In(1),
                "limit_in": In(p.limit_bits),
                "unfinished": In(1),
                "base": Out(p.limit_bits),
                "limit": Out(p.limit_bits),
                "dispatch_limit": Out(p.limit_bits),
                "done": Out(1),
                "error": Out(ErrorSignature(p)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p = self._p
        production = self.production
        launched = Signal()
        picked = Signal(p.limit_bits)
        most = (1 << p.limit_bits) - 1

        # The bitmap in words, so that a bit is found by a word's index and a shift.
        word_bits = min(p.window_workgroups, 32)
        low_bits = (word_bits - 1).bit_length()
        index_bits = (p.window_workgroups - 1).bit_length()
        bitmap = Array(
            Signal(word_bits, name=f"bitmap_{word}")
            for word in range(p.window_workgroups // word_bits)
        )
        complete_word = self.complete_place[low_bits:index_bits]
        base_word = self.base[low_bits:index_bits]
        moves = Signal()
        complete_bit = Signal(word_bits)
        base_bit = Signal(word_bits)
        m.d.comb += [
            moves.eq(bitmap[base_word].bit_select(self.base[:low_bits], 1)),
            complete_bit.eq(Mux(self.complete, 1 << self.complete_place[:low_bits], 0)),
            base_bit.eq(Mux(moves, 1 << self.base[:low_bits], 0)),
        ]
        for index, word in enumerate(bitmap):
            m.d.sync += word.eq(
                (word & ~Mux(base_word == index, base_bit, 0))
                | Mux(complete_word == index, complete_bit, 0)
            )
        with m.If(moves):
            m.d.sync += self.base.eq(self.base + 1)
        # What is picked is known late in a cycle.
        one_more, two_more = picked + 1, picked + 2
        with m.If(self.picked & self.own):
            m.d.sync += picked.eq(two_more)
        with m.Elif(self.picked | self.own):
            m.d.sync += picked.eq(one_more)

        window_end = Signal(p.limit_bits + 1)
        command_end = Signal(p.limit_bits + 2)
        m.d.comb += [
            window_end.eq(self.base + production.window),
            command_end.eq(production.tracked_first + picked + production.command_window),
        ]

        def admitted(end: Signal) -> Value:
            return Mux(launched, Mux(end > most, most, end), 0)

        downstream = Signal(p.limit_bits)
        m.d.comb += downstream.eq(
            Mux(self.limit_in < production.shift, 0, self.limit_in - production.shift)
        )
        m.d.sync += [
            # The comparison is the last to be known, so nothing but the choice is behind it.
            self.limit.eq(
                Mux(window_end < command_end, admitted(window_end), admitted(command_end))
            ),
            self.dispatch_limit.eq(
                Mux(downstream < production.tracked_first, downstream, self.limit)
            ),
            self.done.eq(launched & (self.base >= production.tracked_end)),
        ]

        timeout, waits = Signal(), Signal()
        m.submodules.idle = idle = WideCounter(len(production.timeout))
        m.d.comb += [
            timeout.eq((idle.o == production.timeout) & (production.timeout != 0)),
            idle.step.eq(1),
            waits.eq(launched & ((self.base < production.tracked_end) | self.unfinished)),
            idle.clear.eq(self.launch | moves | timeout | ~waits),
            self.error.valid.eq(timeout),
            self.error.report.code.eq(ErrorCode.TIMEOUT),
            self.error.report.place.eq(self.base),
        ]
        with m.If(self.launch):
            m.d.sync += [
                launched.eq(1),
                self.base.eq(production.tracked_first),
                self.done.eq(0),
                picked.eq(0),
            ]
            m.d.sync += [word.eq(0) for word in bitmap]
        return m
