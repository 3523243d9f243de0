"""One walker of the DMA engine: every so many rows of a tile, a segment at a time."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from rtl.interface.configuration import RegionEntry
from rtl.interface.layouts import Segment
from rtl.lib.compare import less_than, sum_at_most
from rtl.lib.increment import increment
from rtl.lib.interleave import channel_of
from rtl.lib.pending_carry import Halves, add, carry_save, join
from rtl.parameters import T3Parameters

__all__ = ["RowWalker", "Walk"]


def Walk(p: T3Parameters):
    """What all walkers share of a command.

    Before WALK, ``wave_outer_extent`` is the rows of a wavefront, 0 if it stays the same. In WALK
    they are ``wave_outer_extent + wave_rest``, unless that is 0.
    """
    return data.StructLayout(
        {
            "stride": min(24, p.atom_address_bits),
            "inner_extent": 16,
            "rows": 16,
            "minor_log2": 2,
            "wavefront": p.wavefront_bits,  # of the first row
            "wave_outer_extent": 16,
            "wave_rest": range(p.dma_walkers + 1),  # rows of a step beyond whole wavefronts
            "wave_steps": p.wavefront_bits,  # wavefronts of a step
        }
    )


class RowWalker(wiring.Component):
    """Cuts its rows where the channel changes and where a row ends.

    Of ``p.dma_walkers``, this one walks every so manieth row from row ``number`` on.

    Parameters
    ----------
    p : T3Parameters
    number : int

    Members
    -------
    walk : In
        Common to all walkers.
    region : In(:func:`RegionEntry`)
        Of the command; here when it shapes.
    start : In
        First atom of the tile.
    loads, scales, shapes, walks : In(1)
        State of the engine: the start is here; ``walk.stride`` too; all but the extents of ``walk``
        too; all of it. ``inner_extent`` and whether wavefronts change (``is_fixed``) are here when
        it shapes.
    advance : In(1)
        The segment leaves, or is outside the region, or of no channel that is served.
    inner_extent : In(16)
        Atoms of a row, a cycle before ``walk`` has them.
    is_fixed : In(1)
        All rows are of the first row's wavefront.
    channel : Out
        Of the segment.
    segment : Out
        Its ``atom``, ``length``, ``offset`` and ``wavefront``.
    inside : Out(1)
        The region is enabled and has all atoms of the segment.
    valid : Out(1)
        There is one.
    ends : Out(1)
        It is the last one.

    Attributes
    ----------
    For proofs and benches to read, never to drive.

    atom : Signal
        Where the segment begins.
    inner_left : Signal
        Atoms of the row that are left.
    row_ends : Signal
        The segment has all of them. Known before the segment is: whether it stays inside and which
        lane takes it come after.
    next_row : Signal
        Where the next row begins. Before WALK, what that is made of.
    row : Signal
        How many rows have begun, modulo what a tile can have of them.
    wave_row : Signal
        Which row of its wavefront this is.
    wavefront : Signal
        Of the row's first atom.
    ended : Signal
        No row is left.
    """

    def __init__(self, p: T3Parameters, number: int):
        self._p, self._number = p, number
        self._step_log2 = (p.dma_walkers - 1).bit_length()
        granule = p.interleave_atoms
        members = Segment(p).members
        super().__init__(
            {
                "walk": In(Walk(p)),
                "region": In(RegionEntry(p)),
                "start": In(p.atom_address_bits),
                "loads": In(1),
                "scales": In(1),
                "shapes": In(1),
                "walks": In(1),
                "advance": In(1),
                "inner_extent": In(16),
                "is_fixed": In(1),
                "channel": Out(max(1, (p.system_channels - 1).bit_length())),
                "segment": Out(
                    data.StructLayout(
                        {name: members[name] for name in ("atom", "length", "offset", "wavefront")}
                    )
                ),
                "inside": Out(1),
                "valid": Out(1),
                "ends": Out(1),
            }
        )
        self.atom = Signal(p.atom_address_bits)
        self.inner_left = Signal(16)
        self.row_ends = Signal(init=1)
        self.next_row = Signal(Halves(p.atom_address_bits))
        self.row = Signal(16 - self._step_log2)
        self.wave_row = Signal(16)
        self.wavefront = Signal(p.wavefront_bits)
        self.ended = Signal()
        self._room = Signal(range(granule + 1), name="room")

    def elaborate(self, platform):
        m = Module()
        self._cut(m)
        self._contain(m)
        self._count(m)
        self._move(m)
        self._advance(m)
        self._advance_wavefront(m)
        return m

    def _cut(self, m: Module) -> None:
        """The next segment ends with the channel's granule, or with the row."""
        p, room, left, segment = self._p, self._room, self.inner_left, self.segment
        low = self.atom[: (p.interleave_atoms - 1).bit_length()]
        m.d.comb += [
            room.eq(p.interleave_atoms - low),
            segment.atom.eq(self.atom),
            segment.length.eq(Mux(self.row_ends, left, room)),
            segment.offset.eq(self.walk.inner_extent - left),
            segment.wavefront.eq(self.wavefront),
            self.channel.eq(channel_of(p, self.atom)),
        ]

    def _contain(self, m: Module) -> None:
        """Judge the segment's end by its granule first: its length is known too late."""
        region, low_bits = self.region, (self._p.interleave_atoms - 1).bit_length()
        low, granule = self.atom[:low_bits], self.atom[low_bits:]
        last_low, last_granule = region.limit[:low_bits], region.limit[low_bits:]
        ends_before = sum_at_most(low, self.inner_left[: len(self._room)], last_low)
        below_limit = less_than(granule, last_granule) | (
            (granule == last_granule) & self.row_ends & ends_before
        )
        m.d.comb += self.inside.eq(region.enable & ~less_than(self.atom, region.base) & below_limit)

    def _count(self, m: Module) -> None:
        """Whether this walker has a row, and whether it is its last one."""
        full = self.walk.rows[self._step_log2 :]
        rest = self.walk.rows[: self._step_log2]
        # The last walker has none of the rest.
        more = rest > self._number if self._number + 1 < self._p.dma_walkers else Const(0)
        last = self.row == (full + more)[: len(self.row)]
        m.d.comb += [
            self.valid.eq(self.walks & ~self.ended & (full.any() | more)),
            self.ends.eq(self.row_ends & last),
        ]

    def _move(self, m: Module) -> None:
        """To where the next row begins; at first by the rows before this walker's."""
        row, stride, half = self.next_row, self.walk.stride, len(self.next_row.low)
        value = Cat(row.low, row.high)
        before = [(stride << bit)[: len(value)] for bit in range(4) if self._number >> bit & 1] or [
            Const(0, 1)
        ]
        ones, twos = value, before[0]
        for addend in before[1:]:
            ones, twos = carry_save(ones, twos, addend)
        augend = Mux(self.scales, ones, value)
        addend = Mux(self.scales, twos, stride << self._step_log2)[: len(value)]
        with m.If(self.loads):
            m.d.sync += [
                row.low.eq(self.start[:half]),
                row.carry.eq(0),
                row.high.eq(self.start[half:]),
            ]
        with m.Elif(self.scales | self.shapes | (self.advance & self.row_ends)):
            halves = data.View(row.shape(), Cat(augend[:half], row.carry, augend[half:]))
            m.d.sync += row.as_value().eq(add(halves, addend))

    def _advance(self, m: Module) -> None:
        """One segment on: in the row, or to the next row."""
        room, granule_atoms = self._room, self._p.interleave_atoms
        granule = self.atom[(granule_atoms - 1).bit_length() :]
        low_bits = len(self.atom) - len(granule)
        next_row = join(self.next_row)
        room_of_row = granule_atoms - next_row[:low_bits]
        with m.If(self.shapes):
            m.d.sync += [
                self.atom.eq(next_row),
                self.inner_left.eq(self.inner_extent),
                self.row_ends.eq(_at_most(self.inner_extent, room_of_row)),
                self.row.eq(1),
                self.ended.eq(0),
            ]
        with m.Elif(self.advance & ~self.row_ends):
            m.d.sync += [
                self.atom.eq(Cat(Const(0, low_bits), increment(granule))),
                self.inner_left.eq(self.inner_left - room),
                self.row_ends.eq(_at_most(self.inner_left, room + granule_atoms)),
            ]
        with m.Elif(self.advance):
            m.d.sync += [
                self.atom.eq(next_row),
                self.inner_left.eq(self.walk.inner_extent),
                self.row_ends.eq(_at_most(self.walk.inner_extent, room_of_row)),
                self.row.eq(self.row + 1),
                self.ended.eq(self.ends),
            ]

    def _advance_wavefront(self, m: Module) -> None:
        """To the next row's wavefront: whole wavefronts on, and one more where the rest wraps."""
        walk, number = self.walk, self._number
        beyond = Signal(17)  # less than nothing if the rest does not wrap
        wraps = Signal()
        m.d.comb += [
            beyond.eq(self.wave_row - walk.wave_outer_extent),
            wraps.eq(~beyond[-1] & walk.wave_outer_extent.any()),
        ]
        with m.If(self.shapes):
            m.d.sync += [self.wave_row.eq(number), self.wavefront.eq(walk.wavefront)]
            with m.Switch(Mux(self.is_fixed, 0, walk.wave_outer_extent)):
                with m.Case(0):
                    m.d.sync += self.wave_row.eq(0)
                for rows in range(1, number + 1):
                    with m.Case(rows):
                        steps = Const(number // rows) << walk.minor_log2
                        m.d.sync += [
                            self.wave_row.eq(number % rows),
                            self.wavefront.eq(walk.wavefront + steps),
                        ]
        with m.Elif(self.advance & self.row_ends):
            m.d.sync += [
                self.wave_row.eq(Mux(wraps, beyond, self.wave_row + walk.wave_rest)),
                self.wavefront.eq(self.wavefront + ((walk.wave_steps + wraps) << walk.minor_log2)),
            ]


def _at_most(atoms: Value, room: Value) -> Value:
    """Whether ``atoms`` are no more than ``room``, which has fewer bits."""
    bits = len(room)
    return ~atoms[bits:].any() & (atoms[:bits] <= room)
