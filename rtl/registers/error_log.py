"""Error log for software: the oldest errors in full, and a counter for each kind."""

from collections.abc import Iterable

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rtl.interface.encodings import FREQUENT_ERRORS, ErrorCode
from rtl.interface.layouts import ErrorReport
from rtl.interface.signatures import OwnErrorsSignature
from rtl.parameters import T3Parameters

__all__ = ["ERROR_LOG_DEPTH", "FREQUENT_LOG_DEPTH", "ErrorLog"]

ERROR_LOG_DEPTH = 8
FREQUENT_LOG_DEPTH = 6
"""Level from which on the log takes no more errors of :data:`FREQUENT_ERRORS`, so that a flood of
them leaves places for rare errors.
"""
_COUNT_BITS = 16


class ErrorLog(wiring.Component):
    """Error log: keeps the first eight errors until software drops them, and counts all errors.

    The last two places are for errors other than those of stores and packets.

    Parameters
    ----------
    kinds : iterable of ErrorCode
        Error codes with a counter of their own.

    Members
    -------
    error : In(:class:`OwnErrorsSignature`)
        Errors of this cycle. The report is in the log in the next cycle, unless there is no place
        for it.
    clear, drop : In(1)
        Clear all errors and counts; drop the oldest error. An error of the same cycle is kept.
    oldest : Out(:func:`ErrorReport`)
        Oldest error; 0 while the log is empty. Combinational, as ``pending``.
    pending : Out(1)
        The log holds an error.
    level : Out(range(9))
        Errors in the log. Register.
    total : Out(32)
        Cycles with an error up to the cycle before the last. Register, modulo its range.
    counts : Out(16).array
        Cycles with an error of each kind, saturating at 65,535. Registers.

    Attributes
    ----------
    kinds : tuple of ErrorCode
    """

    def __init__(self, p: T3Parameters, kinds: Iterable[ErrorCode]):
        self.kinds = tuple(kinds)
        super().__init__(
            {
                "error": In(OwnErrorsSignature(p)),
                "clear": In(1),
                "drop": In(1),
                "oldest": Out(ErrorReport(p)),
                "pending": Out(1),
                "level": Out(range(ERROR_LOG_DEPTH + 1)),
                "total": Out(32),
                "counts": Out(_COUNT_BITS).array(len(self.kinds)),
                "clock_enable": Out(1),
            }
        )
        self._storage = Memory(shape=ErrorReport(p), depth=ERROR_LOG_DEPTH, init=[])
        self._write = self._storage.write_port()
        self._read = self._storage.read_port(domain="comb")

    def elaborate(self, platform):
        m = Module()
        m.submodules.storage = self._storage
        self._keep(m)
        self._count(m)
        return m

    def _keep(self, m: Module) -> None:
        write, read, level = self._write, self._read, self.level
        first = Signal.like(read.addr)
        rare, space, puts, drops = Signal(), Signal(), Signal(), Signal()
        kinds = self.error.kinds
        m.d.comb += [
            self.pending.eq(level != 0),
            # The report is the rarest error's.
            rare.eq(
                Cat(kinds[code.value] for code in ErrorCode if code not in FREQUENT_ERRORS).any()
            ),
            space.eq(Mux(rare, level != ERROR_LOG_DEPTH, level < FREQUENT_LOG_DEPTH)),
            puts.eq(self.error.valid & (self.clear | space)),
            drops.eq(self.drop & self.pending),
            write.en.eq(puts),
            write.addr.eq(Mux(self.clear, first, first + level)),
            write.data.eq(self.error.report),
            read.addr.eq(first),
            self.oldest.as_value().eq(Mux(self.pending, read.data.as_value(), 0)),
        ]
        with m.If(self.clear):
            m.d.sync += level.eq(puts)
        with m.Else():
            m.d.sync += [level.eq(level + puts - drops), first.eq(first + drops)]

    def _count(self, m: Module) -> None:
        """Count errors one cycle later, since their kinds arrive late."""
        counting, is_kind = Signal(), Signal(len(self.kinds))
        m.d.comb += self.clock_enable.eq(self.error.valid | counting | self.clear | self.drop)
        m.d.sync += counting.eq(self.error.valid)
        with m.If(self.error.valid):
            m.d.sync += is_kind.eq(Cat(self.error.kinds[kind.value] for kind in self.kinds))
        with m.If(self.clear):
            m.d.sync += [self.total.eq(0), *(count.eq(0) for count in self.counts)]
        with m.Elif(counting):
            m.d.sync += self.total.eq(self.total + 1)
            for hit, count in zip(is_kind, self.counts, strict=True):
                with m.If(hit):
                    m.d.sync += count.eq(count + ~count.all())
