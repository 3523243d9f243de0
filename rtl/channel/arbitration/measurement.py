"""Measurement of the DRAM queue's mean occupancy, which selects the MCA threshold."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import ArbiterConfiguration
from rtl.interface.encodings import NO_LIMIT
from rtl.lib.wide_counter import WideCounter
from rtl.parameters import T3Parameters

__all__ = ["Measurement"]


class Measurement(wiring.Component):
    """Averages the occupancy over ``2 ** measure_log2`` cycles, and selects a threshold.

    There is no threshold (127) until two cycles after the end of the first measurement. ``start``
    restarts a running measurement.

    Members
    -------
    occupancy : In(7)
        Entries of the DRAM queue.
    configuration : In(:func:`ArbiterConfiguration`)
    start : In(1)
        Begin a measurement, with the occupancy of the next cycle.
    measured : Out(7)
        Threshold. Register.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    measuring, averaging, choosing : Signal
        Phases of a measurement: adding samples, then one cycle each for the average and the
        threshold, which keeps both paths short.
    count : WideCounter
        Number of samples.
    low : Signal
    carries : WideCounter
        Sum of the samples: its low bits, and the number of carries out of them.
    average : Signal
    """

    def __init__(self, p: T3Parameters):
        super().__init__(
            {
                "occupancy": In(7),
                "configuration": In(ArbiterConfiguration(p)),
                "start": In(1),
                "measured": Out(7, init=NO_LIMIT),
                "clock_enable": Out(1),
            }
        )
        # Wide enough for the samples, and for the carries of the sum, of the longest measurement.
        bits = (1 << len(self.configuration.measure_log2)) - 1
        self.measuring = Signal()
        self.averaging = Signal()
        self.choosing = Signal()
        self.count = WideCounter(bits)
        self.low = Signal(7)
        self.carries = WideCounter(bits)
        self.average = Signal(7)

    def elaborate(self, platform):
        m = Module()
        m.submodules.count = self.count
        m.submodules.carries = self.carries
        end = Signal()
        m.d.comb += [
            end.eq(self.measuring & (self.count.o == (1 << self.configuration.measure_log2) - 1)),
            self.clock_enable.eq(self.start | self.measuring | self.averaging | self.choosing),
        ]
        m.d.sync += [self.averaging.eq(end), self.choosing.eq(self.averaging)]
        self._add(m, end)
        self._choose(m)
        with m.If(self.start):
            m.d.sync += [
                self.measuring.eq(1),
                self.averaging.eq(0),
                self.choosing.eq(0),
                self.low.eq(0),
                self.measured.eq(NO_LIMIT),
            ]
        return m

    def _add(self, m: Module, end: Signal) -> None:
        """Add the occupancy to the sum."""
        more = Signal(8)
        m.d.comb += [
            self.count.step.eq(self.measuring),
            self.count.clear.eq(self.start),
            more.eq(self.low + self.occupancy),
            self.carries.step.eq(self.measuring & more[-1]),
            self.carries.clear.eq(self.start),
        ]
        with m.If(self.measuring):
            m.d.sync += self.low.eq(more)
        with m.If(end):
            m.d.sync += self.measuring.eq(0)

    def _choose(self, m: Module) -> None:
        """Compute the average, and select the threshold of the highest cut that it reaches."""
        config = self.configuration
        level = Signal(7)
        m.d.comb += level.eq(NO_LIMIT)
        for cut, cut_level in zip(config.cuts, config.levels, strict=True):
            with m.If(self.average >= cut):
                m.d.comb += level.eq(cut_level)
        with m.If(self.averaging):
            m.d.sync += self.average.eq(Cat(self.low, self.carries.o) >> config.measure_log2)
        with m.If(self.choosing):
            m.d.sync += self.measured.eq(level)
