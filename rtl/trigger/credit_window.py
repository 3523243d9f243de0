"""Flow control: which dispatch indices may be updated, and which may be dispatched."""

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import LaunchConfiguration
from rtl.interface.encodings import ErrorCode
from rtl.interface.signatures import ErrorSignature
from rtl.lib.wide_counter import WideCounter
from rtl.parameters import T3Parameters

__all__ = ["CreditWindow"]


class CreditWindow(wiring.Component):
    """Sliding credit window over the dispatch indices of a launch, from the oldest incomplete
    one on.

    Dispatch indices may complete in any order; ``oldest`` moves over complete ones, one per cycle,
    from the cycle after their completion on. ``credit_limit`` and ``dispatch_limit`` are registers
    and follow the state by one cycle each. Nothing is admitted before the first ``launch``.

    Parameters
    ----------
    p : :class:`T3Parameters`
        ``credit_window`` dispatch indices are remembered.

    Members
    -------
    launch : In(:func:`LaunchConfiguration`)
    launch : In(1)
        Strobe: starts a launch at ``tracked_first``.
    complete, complete_dispatch_index : In
        A workgroup is complete.
    own, issued : In(1)
        A complete workgroup needs no DMA; the engine took a workgroup's last command.
    credit_limit_in : In(credit_limit_bits)
        Limit of the downstream GPU.
    unfinished : In(1)
        Work is left, and nothing leaves in this cycle.
    oldest, credit_limit : Out(credit_limit_bits)
        Updates are accepted for ``oldest <= dispatch_index < credit_limit``.
    dispatch_limit : Out(credit_limit_bits)
        Workgroups of smaller dispatch indices may be dispatched.
    done : Out(1)
        Every tracked dispatch index is complete.
    error : Out(:class:`ErrorSignature`)
        TIMEOUT: for ``timeout`` cycles ``oldest`` has not moved or, from ``tracked_end`` on,
        something was ``unfinished``.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "launch_configuration": In(LaunchConfiguration(p)),
                "launch": In(1),
                "complete": In(1),
                "complete_dispatch_index": In(p.dispatch_index_bits),
                "own": In(1),
                "issued": In(1),
                "credit_limit_in": In(p.credit_limit_bits),
                "unfinished": In(1),
                "oldest": Out(p.credit_limit_bits),
                "credit_limit": Out(p.credit_limit_bits),
                "dispatch_limit": Out(p.credit_limit_bits),
                "done": Out(1),
                "error": Out(ErrorSignature(p)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        p = self._p
        launch_configuration = self.launch_configuration
        launched = Signal()
        issued = Signal(p.credit_limit_bits)
        most = (1 << p.credit_limit_bits) - 1

        # The bitmap in words, so that a bit is found by a word's index and a shift.
        word_bits = min(p.credit_window, 32)
        low_bits = (word_bits - 1).bit_length()
        index_bits = (p.credit_window - 1).bit_length()
        bitmap = Array(
            Signal(word_bits, name=f"bitmap_{word}") for word in range(p.credit_window // word_bits)
        )
        complete_word = self.complete_dispatch_index[low_bits:index_bits]
        oldest_word = self.oldest[low_bits:index_bits]
        moves = Signal()
        complete_bit = Signal(word_bits)
        oldest_bit = Signal(word_bits)
        m.d.comb += [
            moves.eq(bitmap[oldest_word].bit_select(self.oldest[:low_bits], 1)),
            complete_bit.eq(Mux(self.complete, 1 << self.complete_dispatch_index[:low_bits], 0)),
            oldest_bit.eq(Mux(moves, 1 << self.oldest[:low_bits], 0)),
        ]
        for index, word in enumerate(bitmap):
            m.d.sync += word.eq(
                (word & ~Mux(oldest_word == index, oldest_bit, 0))
                | Mux(complete_word == index, complete_bit, 0)
            )
        with m.If(moves):
            m.d.sync += self.oldest.eq(self.oldest + 1)
        # What is issued is known late in a cycle.
        one_more, two_more = issued + 1, issued + 2
        with m.If(self.issued & self.own):
            m.d.sync += issued.eq(two_more)
        with m.Elif(self.issued | self.own):
            m.d.sync += issued.eq(one_more)

        window_end = Signal(p.credit_limit_bits + 1)
        command_end = Signal(p.credit_limit_bits + 2)
        m.d.comb += [
            window_end.eq(self.oldest + launch_configuration.credit_window),
            command_end.eq(
                launch_configuration.tracked_first + issued + launch_configuration.command_window
            ),
        ]

        def admitted(end: Signal) -> Value:
            return Mux(launched, Mux(end > most, most, end), 0)

        downstream = Signal(p.credit_limit_bits)
        m.d.comb += downstream.eq(
            Mux(
                self.credit_limit_in < launch_configuration.shift,
                0,
                self.credit_limit_in - launch_configuration.shift,
            )
        )
        m.d.sync += [
            # The comparison is the last to be known, so nothing but the choice is behind it.
            self.credit_limit.eq(
                Mux(window_end < command_end, admitted(window_end), admitted(command_end))
            ),
            self.dispatch_limit.eq(
                Mux(downstream < launch_configuration.tracked_first, downstream, self.credit_limit)
            ),
            self.done.eq(launched & (self.oldest >= launch_configuration.tracked_end)),
        ]

        timeout, waits = Signal(), Signal()
        m.submodules.idle = idle = WideCounter(len(launch_configuration.timeout))
        m.d.comb += [
            timeout.eq(
                (idle.o == launch_configuration.timeout) & (launch_configuration.timeout != 0)
            ),
            idle.step.eq(1),
            waits.eq(
                launched & ((self.oldest < launch_configuration.tracked_end) | self.unfinished)
            ),
            idle.clear.eq(self.launch | moves | timeout | ~waits),
            self.error.valid.eq(timeout),
            self.error.report.code.eq(ErrorCode.TIMEOUT),
            self.error.report.dispatch_index.eq(self.oldest),
        ]
        with m.If(self.launch):
            m.d.sync += [
                launched.eq(1),
                self.oldest.eq(launch_configuration.tracked_first),
                self.done.eq(0),
                issued.eq(0),
            ]
            m.d.sync += [word.eq(0) for word in bitmap]
        return m
