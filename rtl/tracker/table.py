"""Memory of a tracker bank: sets of entries with check bits, and the pipeline of writes."""

from amaranth.hdl import Cat, Module, Mux, Shape, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rtl.lib.injection import Injector, InjectSignature
from rtl.lib.scrubber import Scrubber
from rtl.lib.secded import SecdedCheck, code_word, encode
from rtl.lib.select import one_hot_first, one_hot_select

__all__ = ["TrackerTable"]


class TrackerTable(wiring.Component):
    """Tracker table: reads one set and writes one entry per cycle.

    A set that is read in cycle *t* is in ``row`` in *t + 2*, with all writes up to cycle *t*.
    Entries have check bits (:mod:`rtl.lib.secded`): a single-bit error is corrected, and an entry
    with a double-bit error reads as invalid.

    Parameters
    ----------
    entry : :class:`~amaranth.lib.data.StructLayout`
        Layout of an entry, with a field ``valid``.
    rows, ways : int
        Number of sets, and of entries per set.

    Members
    -------
    read : In(1)
    read_set : In
    row : Out(array of ``entry``)
    corrected : Out(1)
        In *t + 1*: a bit error of an entry of the set was corrected.
    lost : Out(ways)
        In *t + 2*: entries with an uncorrectable error.
    may_write : In(1)
        An entry may be written in this cycle. Must arrive early, since it enables all of ``write``.
    write_ways : In(ways)
        Entries of ``write_set`` that are written; none without ``may_write``.
    write_set, write : In
    clearing : Out(1)
        High after reset, while the table is cleared, one set per cycle. Writes are lost meanwhile.
    inject : In(:class:`InjectSignature`)
        Injects bit errors into the next valid entry written.
    scrub : In(1)
        Strobe: a step of the scrubber is due.
    scrub_corrected : Out(1)
        The scrubber writes a corrected entry in this cycle.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    entries : list of Memory
        One memory per way, since only one entry of a set changes at a time.
    read_ports, write_ports : list of ReadPort, list of WritePort
        Ports of ``entries``.
    written, written_ways, written_set : Signal
        Write request of the last cycle, which is performed in this cycle; valid only with a way.
    earlier, earlier_ways : Signal
        Write request of the cycle before; valid only with a way.
    injector : Injector
    walk : Scrubber
    wrong : Signal
        With ``walk.holds``: ways of ``row`` in which a bit error was corrected.
    fixing : Signal
        The scrubber writes in this cycle, and the traffic does not.
    fixes, fixed : Signal
        With ``fixing``: way to write, and the corrected entry.
    checking, shows : Signal
        A set was read in the last cycle; a set was read in the cycle before that.
    set_of_written, set_of_earlier : Signal
        With ``checking``: the set that was read is the set of ``written``, or of ``earlier``, as
        these are now, if they have a way. Low without ``checking``.
    writes_given : Signal
        A write of this cycle takes ``written``.
    clear_row : Signal
        With ``clearing``: the set that is cleared.
    """

    def __init__(self, entry: data.StructLayout, *, rows: int, ways: int):
        self._entry, self._rows, self._ways = entry, rows, ways
        depth = max(rows, 2)  # with one row there would be no address
        super().__init__(
            {
                "read": In(1),
                "read_set": In(range(depth)),
                "row": Out(entry).array(ways),
                "corrected": Out(1),
                "lost": Out(ways),
                "may_write": In(1),
                "write_ways": In(ways),
                "write_set": In(range(depth)),
                "write": In(entry),
                "clearing": Out(1, init=1),
                "inject": In(InjectSignature()),
                "scrub": In(1),
                "scrub_corrected": Out(1),
                "clock_enable": Out(1),
            }
        )
        self.entries = [Memory(shape=code_word(entry), depth=depth, init=[]) for _ in range(ways)]
        self.read_ports = [memory.read_port() for memory in self.entries]
        self.write_ports = [memory.write_port() for memory in self.entries]
        self.written = Signal(entry, reset_less=True)
        self.written_ways = Signal(ways)
        self.written_set = Signal(range(depth), reset_less=True)
        self.earlier = Signal(entry, reset_less=True)
        self.earlier_ways = Signal(ways)
        self.injector = Injector()
        self.walk = Scrubber(rows)
        self.wrong = Signal(ways)
        self.fixing = Signal()
        self.fixes = Signal(ways)
        self.fixed = Signal(entry, reset_less=True)
        self.checking = Signal()
        self.shows = Signal()
        self.set_of_written = Signal()
        self.set_of_earlier = Signal()
        self.writes_given = Signal()
        self.clear_row = Signal(range(depth))

    def elaborate(self, platform):
        m = Module()
        self._delay(m)
        self._clear(m)
        self._write(m)
        self._read(m)
        self._enable_clock(m)
        return m

    def _delay(self, m: Module) -> None:
        """Delay writes: the check bits of an entry are computed in the cycle after its request, in
        which it is also written. The write before it is done already, but invisible to a read in
        the same cycle."""
        m.d.sync += [
            self.written_ways.eq(self.write_ways),
            self.earlier_ways.eq(self.written_ways),
            self.checking.eq(self.read),
            self.shows.eq(self.checking),
            self.set_of_written.eq(self.read & (self.write_set == self.read_set)),
            self.set_of_earlier.eq(self.read & (self.written_set == self.read_set)),
        ]
        with m.If(self.may_write):
            m.d.sync += [self.written.eq(self.write), self.written_set.eq(self.write_set)]
        with m.If(self.written_ways.any()):
            m.d.sync += self.earlier.eq(self.written)

    def _clear(self, m: Module) -> None:
        with m.If(self.clearing):
            m.d.sync += self.clear_row.eq(self.clear_row + 1)
            with m.If(self.clear_row == self._rows - 1):
                m.d.sync += self.clearing.eq(0)

    def _write(self, m: Module) -> None:
        word = Signal(Shape.cast(self._entry))
        code = Signal(code_word(self._entry))
        m.submodules.injector = injector = self.injector
        wiring.connect(m, wiring.flipped(self.inject), injector.port)
        walk, fixing = self.walk, self.fixing
        of_tile = self.written.valid & self.written_ways.any() & ~self.clearing
        m.d.comb += [
            self.scrub_corrected.eq(fixing),
            # One signal per source, since the selection is in front of all check bits. A clear
            # selects neither source.
            word.eq(
                (self.writes_given.replicate(len(word)) & self.written.as_value())
                | (fixing.replicate(len(word)) & self.fixed.as_value())
            ),
            injector.write.eq(of_tile),
            code.eq(Cat(word ^ Mux(of_tile, injector.flips, 0), encode(word))),
        ]
        for way, port in enumerate(self.write_ports):
            m.d.comb += [
                port.addr.eq(
                    Mux(self.clearing, self.clear_row, Mux(fixing, walk.row, self.written_set))
                ),
                port.data.eq(code),
                port.en.eq(self.clearing | self.written_ways[way] | (fixing & self.fixes[way])),
            ]

    def _read(self, m: Module) -> None:
        corrected, lost = Signal(self._ways), Signal(self._ways)
        m.submodules.walk = walk = self.walk
        m.d.comb += [
            walk.step.eq(self.scrub),
            walk.free.eq(~self.read & ~self.clearing & ~self.fixing),
            walk.correctable.eq(corrected.any()),
            # With pending writes the row as read is outdated; without them it can be corrected.
            walk.disturbed.eq(self.written_ways.any() | self.earlier_ways.any()),
        ]
        first = one_hot_first(self.wrong)
        clears = self.clearing & (self.clear_row != self._rows - 1)
        fixes = walk.holds & ~self.written_ways.any() & ~self.write_ways.any()
        m.d.sync += [
            self.wrong.eq(corrected),
            self.fixing.eq(fixes),
            self.writes_given.eq(~fixes & ~clears),
        ]
        with m.If(walk.holds):
            m.d.sync += [
                self.fixes.eq(first),
                self.fixed.eq(one_hot_select(first, list(self.row))),
            ]
        m.d.comb += self.corrected.eq(self.checking & corrected.any())
        m.d.sync += self.lost.eq(Mux(self.checking, lost, 0))
        for way, (memory, read) in enumerate(zip(self.entries, self.read_ports, strict=True)):
            m.submodules[f"entries_{way}"] = memory
            m.submodules[f"check_{way}"] = check = SecdedCheck(self._entry)
            by_written, by_earlier = Signal(), Signal()
            m.d.comb += [
                read.addr.eq(Mux(self.read, self.read_set, walk.row)),
                read.en.eq(self.read | walk.reads),
                check.i.eq(read.data),
                by_written.eq(self.set_of_written & self.written_ways[way]),
                by_earlier.eq(self.set_of_earlier & self.earlier_ways[way]),
                corrected[way].eq(check.corrected & ~by_written & ~by_earlier),
                lost[way].eq(check.lost & ~by_written & ~by_earlier),
            ]
            row = self.row[way]
            with m.If(by_written):
                m.d.sync += row.eq(self.written)
            with m.Elif(by_earlier):
                m.d.sync += row.eq(self.earlier)
            with m.Else():
                m.d.sync += [row.eq(check.o), row.valid.eq(check.o.valid & ~check.lost)]

    def _enable_clock(self, m: Module) -> None:
        """Enable the clock up to the cycle in which ``row`` shows a set.

        At the end of that cycle ``row`` takes the set as it was read, without writes since, and
        keeps it; ``lost`` returns to 0."""
        m.d.comb += self.clock_enable.eq(
            Cat(
                *(self.read, self.checking, self.shows),
                *(self.may_write, self.written_ways, self.earlier_ways),
                *(self.clearing, self.fixing, self.walk.clock_enable, self.injector.clock_enable),
            ).any()
        )
