"""Credit window: dispatch indices that may be updated."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import LaunchConfiguration
from rtl.interface.encodings import ErrorCode
from rtl.interface.signatures import ErrorSignature
from rtl.lib.wide_counter import WideCounter
from rtl.parameters import T3Parameters

__all__ = ["CreditWindow"]


class CreditWindow(wiring.Component):
    """Credit window: slides over the dispatch indices of a launch, from the oldest incomplete one
    on.

    Dispatch indices may complete in any order; ``oldest`` advances over complete ones, one per
    cycle, from the cycle after their completion on. ``credit_limit`` is a register, one cycle
    behind the state. Before the first ``launch`` no index is admitted.

    Parameters
    ----------
    p : :class:`T3Parameters`
        The bitmap covers ``credit_window`` dispatch indices.

    Members
    -------
    launch_configuration : In(:func:`LaunchConfiguration`)
    launch : In(1)
        Strobe: starts a launch at ``tracked_first``.
    aborting : In(1)
        The launch is aborted: no index is admitted, and the timeout is off.
    tick : In(1)
        Tick of the GPU's timebase.
    complete, complete_dispatch_index : In
        A workgroup is complete.
    own, issued : In(1)
        A complete workgroup needs no DMA; the engine took a workgroup's last command.
    unfinished : In(1)
        Work of the context is left, a launch waits, or a gate is closed; and there is no progress
        in this cycle.
    released : In(1)
        A gate releases workgroups, which counts as progress; without bits if no other context
        exists.
    oldest, credit_limit : Out(credit_limit_bits)
        Updates are accepted for ``oldest <= dispatch_index < credit_limit``.
    changes : Out(1)
        Strobe: ``credit_limit`` has another value in the next cycle. Means nothing with ``launch``.
    done : Out(1)
        Every tracked dispatch index is complete.
    reports : Out(1)
        Strobe: ``oldest`` has come to a multiple of ``2**report_log2``, or to ``tracked_end``, and
        the launch ``reports_steps``. Register.
    error : Out(:class:`ErrorSignature`)
        TIMEOUT: for ``timeout`` ticks ``oldest`` has not advanced or, from ``tracked_end`` on, work
        was ``unfinished``, and no gate released workgroups.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    bitmap : Array of Signal
        Complete dispatch indices of the credit window; see `word_of` and `bit_of`.
    launched : Signal
        A launch is running or done.
    moves : Signal
        The oldest dispatch index is complete.
    issued_count : Signal
        Dispatch indices of the launch whose commands have all been issued.
    """

    def __init__(self, p: T3Parameters):
        self._p = p
        super().__init__(
            {
                "launch_configuration": In(LaunchConfiguration(p)),
                "launch": In(1),
                "aborting": In(1),
                "tick": In(1),
                "complete": In(1),
                "complete_dispatch_index": In(p.dispatch_index_bits),
                "own": In(1),
                "issued": In(1),
                "unfinished": In(1),
                "released": In(int(p.contexts > 1)),
                "oldest": Out(p.credit_limit_bits),
                "credit_limit": Out(p.credit_limit_bits),
                "changes": Out(1),
                "done": Out(1),
                "reports": Out(1),
                "error": Out(ErrorSignature(p)),
                "clock_enable": Out(1),
            }
        )
        # Split into words, so that a bit is addressed by a word index and a shift.
        word_bits = min(p.credit_window, 32)
        self._low_bits = (word_bits - 1).bit_length()
        self.bitmap = Array(
            Signal(word_bits, name=f"bitmap_{word}") for word in range(p.credit_window // word_bits)
        )
        self.launched = Signal()
        self.moves = Signal()
        self.issued_count = Signal(p.credit_limit_bits)

    def word_of(self, dispatch_index: Value) -> Value:
        """Compute the word of ``bitmap`` that contains a dispatch index."""
        return dispatch_index[self._low_bits : (self._p.credit_window - 1).bit_length()]

    def bit_of(self, dispatch_index: Value) -> Value:
        """Compute the bit of a dispatch index in its word of ``bitmap``."""
        return dispatch_index[: self._low_bits]

    def elaborate(self, platform):
        m = Module()
        self._remember(m)
        self._count_issued(m)
        ends = self._admit(m)
        counts = self._watch(m)
        events = (self.launch, self.complete, self.moves, self.own, self.issued, self.reports)
        aborts = self.aborting & (self.launched | self.done)
        m.d.comb += self.clock_enable.eq(Cat(*events, aborts, self.changes, ends, counts).any())
        with m.If(self.launch):
            m.d.sync += [
                self.launched.eq(1),
                self.oldest.eq(self.launch_configuration.tracked_first),
                self.done.eq(0),
                self.issued_count.eq(0),
                # The limit admits no index until it follows the new launch.
                self.credit_limit.eq(0),
            ]
            m.d.sync += [word.eq(0) for word in self.bitmap]
        with m.Elif(self.aborting):
            m.d.sync += [self.launched.eq(0), self.done.eq(0)]
        return m

    def _remember(self, m: Module) -> None:
        """Mark complete dispatch indices, and advance the oldest over them."""
        complete, oldest, bitmap = self.complete_dispatch_index, self.oldest, self.bitmap
        word_bits = len(bitmap[0])
        complete_bit = Signal(word_bits)
        oldest_bit = Signal(word_bits)
        m.d.comb += [
            self.moves.eq(bitmap[self.word_of(oldest)].bit_select(self.bit_of(oldest), 1)),
            complete_bit.eq(Mux(self.complete, 1 << self.bit_of(complete), 0)),
            oldest_bit.eq(Mux(self.moves, 1 << self.bit_of(oldest), 0)),
        ]
        for index, word in enumerate(bitmap):
            m.d.sync += word.eq(
                (word & ~Mux(self.word_of(oldest) == index, oldest_bit, 0))
                | Mux(self.word_of(complete) == index, complete_bit, 0)
            )
        following, configuration = (oldest + 1)[: len(oldest)], self.launch_configuration
        steps = Signal()
        # Comparing with the end of the step is cheaper than with its beginning.
        low = Cat((configuration.report_log2 > bit) & ~oldest[bit] for bit in range(len(oldest)))
        m.d.comb += steps.eq(~low.any() | (following == configuration.tracked_end))
        with m.If(self.moves):
            m.d.sync += self.oldest.eq(following)
        rings = self.moves & self.launched & ~self.launch & configuration.reports_steps
        m.d.sync += self.reports.eq(rings & steps)

    def _count_issued(self, m: Module) -> None:
        """Count issued dispatch indices; ``issued`` arrives late in a cycle."""
        count = self.issued_count
        one_more, two_more = count + 1, count + 2
        with m.If(self.issued & self.own):
            m.d.sync += count.eq(two_more)
        with m.Elif(self.issued | self.own):
            m.d.sync += count.eq(one_more)

    def _admit(self, m: Module) -> Value:
        """Compute the limit and the end of the launch; return whether the end changes."""
        bits, configuration = self._p.credit_limit_bits, self.launch_configuration
        window_end = Signal(bits + 1)
        command_end = Signal(bits + 2)
        m.d.comb += [
            window_end.eq(self.oldest + configuration.credit_window),
            command_end.eq(
                configuration.tracked_first + self.issued_count + configuration.command_window
            ),
        ]
        # The comparison arrives last, so only a multiplexer is behind it.
        is_first = window_end < command_end
        first, second = self._admitted(window_end), self._admitted(command_end)
        limit = self.credit_limit
        m.d.sync += limit.eq(Mux(is_first, first, second))
        m.d.comb += self.changes.eq(Mux(is_first, limit != first, limit != second))
        done = self.launched & (self.oldest >= configuration.tracked_end)
        m.d.sync += self.done.eq(done)
        return done != self.done

    def _admitted(self, end: Value) -> Value:
        most = (1 << self._p.credit_limit_bits) - 1
        return Mux(self.launched, Mux(end > most, most, end), 0)

    def _watch(self, m: Module) -> Value:
        """Report a launch without progress; return the clock enable of the timer."""
        configuration = self.launch_configuration
        timeout, waits, moves = Signal(), Signal(), Cat(self.moves, self.released).any()
        most = (1 << self._p.dispatch_index_bits) - 1
        m.submodules.idle = idle = WideCounter(len(configuration.timeout))
        m.d.comb += [
            timeout.eq((idle.o == configuration.timeout) & (configuration.timeout != 0)),
            idle.step.eq(self.tick),
            waits.eq(self.launched & ((self.oldest < configuration.tracked_end) | self.unfinished)),
            idle.clear.eq(self.launch | moves | timeout | ~waits),
            self.error.valid.eq(timeout),
            self.error.report.code.eq(ErrorCode.TIMEOUT),
            # The end of a launch of all ids is not a dispatch index; the last index represents it.
            self.error.report.dispatch_index.eq(Mux(self.oldest[-1], most, self.oldest)),
        ]
        return idle.clock_enable
