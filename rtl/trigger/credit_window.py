# amaranth: UnusedElaboratable=no
"""Flow control: which dispatch indices may be updated, and which may be dispatched."""

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
    launch_configuration : In(:func:`LaunchConfiguration`)
    launch : In(1)
        Strobe: starts a launch at ``tracked_first``.
    aborting : In(1)
        The launch is given up: nothing is admitted, and nothing waited for.
    tick : In(1)
        The GPU's timebase.
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
        TIMEOUT: for ``timeout`` ticks ``oldest`` has not moved or, from ``tracked_end`` on,
        something was ``unfinished``.
    awake : Out(1)
        See :func:`~rtl.lib.sleep.may_sleep`.

    Attributes
    ----------
    Proofs and benches may read these; nothing outside drives them.

    bitmap : Array of Signal
        Which dispatch indices of the credit window are complete; see `word_of` and `bit_of`.
    launched : Signal
        There was a launch.
    moves : Signal
        The oldest one is complete.
    issued_count : Signal
        Dispatch indices of the launch that need no more of the engine.
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
                "credit_limit_in": In(p.credit_limit_bits),
                "unfinished": In(1),
                "oldest": Out(p.credit_limit_bits),
                "credit_limit": Out(p.credit_limit_bits),
                "dispatch_limit": Out(p.credit_limit_bits),
                "done": Out(1),
                "error": Out(ErrorSignature(p)),
                "awake": Out(1),
            }
        )
        # In words, so that a bit is found by a word's index and a shift.
        word_bits = min(p.credit_window, 32)
        self._low_bits = (word_bits - 1).bit_length()
        self.bitmap = Array(
            Signal(word_bits, name=f"bitmap_{word}") for word in range(p.credit_window // word_bits)
        )
        self.launched = Signal()
        self.moves = Signal()
        self.issued_count = Signal(p.credit_limit_bits)

    def word_of(self, dispatch_index: Value) -> Value:
        """Index of the word of ``bitmap`` that a dispatch index is in."""
        return dispatch_index[self._low_bits : (self._p.credit_window - 1).bit_length()]

    def bit_of(self, dispatch_index: Value) -> Value:
        """Index of a dispatch index's bit in its word of ``bitmap``."""
        return dispatch_index[: self._low_bits]

    def elaborate(self, platform):
        m = Module()
        self._remember(m)
        self._count_issued(m)
        follows = self._admit(m)
        counts = self._watch(m)
        events = (self.launch, self.complete, self.moves, self.own, self.issued)
        given_up = self.aborting & (self.launched | self.done)
        m.d.comb += self.awake.eq(Cat(*events, given_up, follows, counts).any())
        with m.If(self.launch):
            m.d.sync += [
                self.launched.eq(1),
                self.oldest.eq(self.launch_configuration.tracked_first),
                self.done.eq(0),
                self.issued_count.eq(0),
                # Until they follow the new launch, nothing is admitted by them.
                self.credit_limit.eq(0),
                self.dispatch_limit.eq(0),
            ]
            m.d.sync += [word.eq(0) for word in self.bitmap]
        with m.Elif(self.aborting):
            m.d.sync += [self.launched.eq(0), self.done.eq(0)]
        return m

    def _remember(self, m: Module) -> None:
        """Which dispatch indices are complete; the oldest moves over those that are."""
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
        with m.If(self.moves):
            m.d.sync += self.oldest.eq(self.oldest + 1)

    def _count_issued(self, m: Module) -> None:
        """What is issued is known late in a cycle."""
        count = self.issued_count
        one_more, two_more = count + 1, count + 2
        with m.If(self.issued & self.own):
            m.d.sync += count.eq(two_more)
        with m.Elif(self.issued | self.own):
            m.d.sync += count.eq(one_more)

    def _admit(self, m: Module) -> Value:
        """The limits and the end; gives whether one of them changes."""
        bits, configuration = self._p.credit_limit_bits, self.launch_configuration
        window_end = Signal(bits + 1)
        command_end = Signal(bits + 2)
        downstream = Signal(bits)
        m.d.comb += [
            window_end.eq(self.oldest + configuration.credit_window),
            command_end.eq(
                configuration.tracked_first + self.issued_count + configuration.command_window
            ),
            downstream.eq(
                Mux(
                    self.credit_limit_in < configuration.shift,
                    0,
                    self.credit_limit_in - configuration.shift,
                )
            ),
        ]
        # The comparisons are the last to be known, so nothing but the choice is behind them.
        limits = (
            (
                self.credit_limit,
                window_end < command_end,
                self._admitted(window_end),
                self._admitted(command_end),
            ),
            (
                self.dispatch_limit,
                downstream < configuration.tracked_first,
                downstream,
                self.credit_limit,
            ),
        )
        follows = []
        for limit, is_first, first, second in limits:
            m.d.sync += limit.eq(Mux(is_first, first, second))
            follows.append(Mux(is_first, limit != first, limit != second))
        done = self.launched & (self.oldest >= configuration.tracked_end)
        m.d.sync += self.done.eq(done)
        return Cat(*follows, done != self.done).any()

    def _admitted(self, end: Value) -> Value:
        most = (1 << self._p.credit_limit_bits) - 1
        return Mux(self.launched, Mux(end > most, most, end), 0)

    def _watch(self, m: Module) -> Value:
        """Report a launch in which nothing happens for too long; gives whether time counts."""
        configuration = self.launch_configuration
        timeout, waits = Signal(), Signal()
        most = (1 << self._p.dispatch_index_bits) - 1
        m.submodules.idle = idle = WideCounter(len(configuration.timeout))
        m.d.comb += [
            timeout.eq((idle.o == configuration.timeout) & (configuration.timeout != 0)),
            idle.step.eq(self.tick),
            waits.eq(self.launched & ((self.oldest < configuration.tracked_end) | self.unfinished)),
            idle.clear.eq(self.launch | self.moves | timeout | ~waits),
            self.error.valid.eq(timeout),
            self.error.report.code.eq(ErrorCode.TIMEOUT),
            # The end of a launch of all ids has no dispatch index: the last one stands for it.
            self.error.report.dispatch_index.eq(Mux(self.oldest[-1], most, self.oldest)),
        ]
        return idle.awake
