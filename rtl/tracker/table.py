"""The memory of a tracker bank: sets of entries, protected, and what is on its way into them."""

from amaranth.hdl import Cat, Module, Mux, Shape, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory, MemoryData
from amaranth.lib.wiring import In, Out

from rtl.lib.secded import SecdedCheck, code_word, encode

__all__ = ["TrackerTable"]


class TrackerTable(wiring.Component):
    """Sets of entries: one set is read and one entry written per cycle.

    A set that is asked for in cycle *t* is in ``row`` in *t + 2*, as the writes of all cycles up to
    *t* have left it. Entries are kept with check bits (:mod:`rtl.lib.secded`): one wrong bit of an
    entry is corrected, an entry with two is shown as not valid.

    Parameters
    ----------
    entry : :class:`~amaranth.lib.data.StructLayout`
        With a field ``valid``.
    rows, ways : int
        Sets, and entries of each.

    Members
    -------
    read : In(1)
    read_set : In
    row : Out(array of ``entry``)
    corrected : Out(1)
        In *t + 1*: an entry of the set had a wrong bit.
    lost : Out(1)
        In *t + 2*: one had more.
    write_ways : In(ways)
        Entries of ``write_set`` that become ``write``.
    write_set, write : In
    clear : In(1)
        Strobe: sets all to 0, one set per cycle. What is written after it until then is lost.
    clearing : Out(1)
        On meanwhile, also after reset.
    """

    def __init__(self, entry: data.StructLayout, *, rows: int, ways: int):
        self._entry, self._rows, self._ways = entry, rows, ways
        self._depth = max(rows, 2)  # with one row there would be no address
        # One memory per way: only one entry of a set changes at a time. Made here, so that a test
        # can turn bits in them.
        self.entries = [
            MemoryData(shape=code_word(entry), depth=self._depth, init=[]) for _ in range(ways)
        ]
        super().__init__(
            {
                "read": In(1),
                "read_set": In(range(self._depth)),
                "row": Out(entry).array(ways),
                "corrected": Out(1),
                "lost": Out(1),
                "write_ways": In(ways),
                "write_set": In(range(self._depth)),
                "write": In(entry),
                "clear": In(1),
                "clearing": Out(1, init=1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # An entry gets its check bits in the cycle after it was given, and is written in it. The
        # one before it is written already, but not seen by a read in that same cycle.
        written, earlier = (
            Signal(self._entry, reset_less=True),
            Signal(self._entry, reset_less=True),
        )
        written_ways, earlier_ways = Signal(self._ways), Signal(self._ways)
        written_set = Signal.like(self.write_set, reset_less=True)
        m.d.sync += [
            written.eq(self.write),
            written_ways.eq(self.write_ways),
            written_set.eq(self.write_set),
            earlier.eq(written),
            earlier_ways.eq(written_ways),
        ]
        checking = Signal()
        set_of_written, set_of_earlier = Signal(), Signal()
        m.d.sync += [
            checking.eq(self.read),
            set_of_written.eq(self.write_set == self.read_set),
            set_of_earlier.eq(written_set == self.read_set),
        ]

        clear_row = Signal.like(self.read_set)
        with m.If(self.clearing):
            m.d.sync += clear_row.eq(clear_row + 1)
            with m.If(clear_row == self._rows - 1):
                m.d.sync += self.clearing.eq(0)
        with m.If(self.clear):
            m.d.sync += [self.clearing.eq(1), clear_row.eq(0)]
        word = Signal(Shape.cast(self._entry))
        code = Signal(code_word(self._entry))
        m.d.comb += [
            word.eq(Mux(self.clearing, 0, written)),
            code.eq(Cat(word, encode(word))),
        ]

        corrected, lost = Signal(self._ways), Signal(self._ways)
        m.d.comb += self.corrected.eq(checking & corrected.any())
        m.d.sync += self.lost.eq(checking & lost.any())
        for way, entries in enumerate(self.entries):
            m.submodules[f"entries_{way}"] = memory = Memory(entries)
            read, write = memory.read_port(), memory.write_port()
            m.submodules[f"check_{way}"] = check = SecdedCheck(self._entry)
            by_written, by_earlier = Signal(), Signal()
            m.d.comb += [
                read.addr.eq(self.read_set),
                read.en.eq(self.read),
                write.addr.eq(Mux(self.clearing, clear_row, written_set)),
                write.data.eq(code),
                write.en.eq(self.clearing | written_ways[way]),
                check.i.eq(read.data),
                by_written.eq(set_of_written & written_ways[way]),
                by_earlier.eq(set_of_earlier & earlier_ways[way]),
                corrected[way].eq(check.corrected & ~by_written & ~by_earlier),
                lost[way].eq(check.lost & ~by_written & ~by_earlier),
            ]
            row = self.row[way]
            with m.If(by_written):
                m.d.sync += row.eq(written)
            with m.Elif(by_earlier):
                m.d.sync += row.eq(earlier)
            with m.Else():
                m.d.sync += [row.eq(check.o), row.valid.eq(check.o.valid & ~check.lost)]
        return m
