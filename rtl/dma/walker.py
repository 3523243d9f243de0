"""Row walker of the DMA engine: generates the segments of every n-th row of a tile."""

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
    """Values of a command that all walkers share.

    Before WALK, ``wave_outer_extent`` is the number of rows of a wavefront, 0 if all rows belong to
    the same wavefront. In WALK, the number of rows is ``wave_outer_extent + wave_rest``, unless
    ``wave_outer_extent`` is 0.
    """
    return data.StructLayout(
        {
            "stride": min(24, p.atom_address_bits),
            "inner_extent": 16,
            "rows": 16,
            "minor_log2": 2,
            "wavefront": p.wavefront_bits,  # wavefront of the first row
            "wave_outer_extent": 16,
            "wave_rest": range(p.dma_walkers + 1),  # rows of a step beyond whole wavefronts
            "wave_steps": p.wavefront_bits,  # wavefronts of a step
        }
    )


class RowWalker(wiring.Component):
    """Row walker: cuts its rows into segments where the channel changes and where a row ends.

    Walker ``number`` of ``n = p.dma_walkers`` handles the rows ``number``, ``number + n``,
    ``number + 2 * n`` and so on.

    Members
    -------
    walk : In
        Values common to all walkers.
    region : In(:func:`RegionEntry`)
        Region of the command; valid from ``shapes`` on.
    start : In
        First atom of the tile.
    loads, scales, shapes, walks : In(1)
        State of the engine, one-hot. With ``loads`` the start is valid, with ``scales`` also
        ``walk.stride``, with ``shapes`` also ``walk`` except its extents, ``inner_extent`` and
        ``is_fixed``, and with ``walks`` all of ``walk``.
    advance : In(1)
        Go to the next segment: the current one leaves, is outside the region, or belongs to a
        channel that is not served.
    inner_extent : In(16)
        Atoms of a row, one cycle before they are in ``walk``.
    is_fixed : In(1)
        All rows belong to the first row's wavefront.
    channel : Out
        Channel of the segment.
    segment : Out
        Fields ``atom``, ``length``, ``offset`` and ``wavefront`` of the segment.
    inside : Out(1)
        The region is enabled and contains all atoms of the segment.
    valid : Out(1)
        The segment is valid.
    ends : Out(1)
        The segment is the last one.

    Attributes
    ----------
    Proofs and benches read these attributes, but never drive them.

    atom : Signal
        First atom of the segment.
    inner_left : Signal
        Atoms of the row that are left, including the segment.
    row_ends : Signal
        The segment ends the row. Registered, because the region check and the lane selection depend
        on it.
    next_row : Signal
        First atom of the next row. Before WALK an intermediate value.
    skips : Signal
        High from ``loads`` to ``scales``, which arrives too late to select the addends of
        ``next_row``.
    row : Signal
        Number of rows that have begun, modulo the greatest number of rows.
    wave_row : Signal
        Index of the row in its wavefront.
    wavefront : Signal
        Wavefront of the row's first atom.
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
        self.skips = Signal()
        self.row = Signal(16 - self._step_log2)
        self.wave_row = Signal(16)
        self.wavefront = Signal(p.wavefront_bits)
        self.ended = Signal()
        self._space = Signal(range(granule + 1), name="space")

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
        """Cut the segment at the end of the channel's granule or of the row."""
        p, space, left, segment = self._p, self._space, self.inner_left, self.segment
        low = self.atom[: (p.interleave_atoms - 1).bit_length()]
        m.d.comb += [
            space.eq(p.interleave_atoms - low),
            segment.atom.eq(self.atom),
            segment.length.eq(Mux(self.row_ends, left, space)),
            segment.offset.eq(self.walk.inner_extent - left),
            segment.wavefront.eq(self.wavefront),
            self.channel.eq(channel_of(p, self.atom)),
        ]

    def _contain(self, m: Module) -> None:
        """Compare the segment with the region, by granules first, since its length arrives late."""
        region, low_bits = self.region, (self._p.interleave_atoms - 1).bit_length()
        low, granule = self.atom[:low_bits], self.atom[low_bits:]
        last_low, last_granule = region.limit[:low_bits], region.limit[low_bits:]
        ends_before = sum_at_most(low, self.inner_left[: len(self._space)], last_low)
        below_limit = less_than(granule, last_granule) | (
            (granule == last_granule) & self.row_ends & ends_before
        )
        m.d.comb += self.inside.eq(region.enable & ~less_than(self.atom, region.base) & below_limit)

    def _count(self, m: Module) -> None:
        """Determine whether the walker has a row, and whether it is the last one."""
        full = self.walk.rows[self._step_log2 :]
        rest = self.walk.rows[: self._step_log2]
        # The last walker has no row of the remainder.
        more = rest > self._number if self._number + 1 < self._p.dma_walkers else Const(0)
        last = self.row == (full + more)[: len(self.row)]
        m.d.comb += [
            self.valid.eq(self.walks & ~self.ended & (full.any() | more)),
            self.ends.eq(self.row_ends & last),
        ]

    def _move(self, m: Module) -> None:
        """Advance to the next row; initially skip the rows of the walkers before this one."""
        row, stride, half = self.next_row, self.walk.stride, len(self.next_row.low)
        value = Cat(row.low, row.high)
        before = [(stride << bit)[: len(value)] for bit in range(4) if self._number >> bit & 1] or [
            Const(0, 1)
        ]
        ones, twos = value, before[0]
        for addend in before[1:]:
            ones, twos = carry_save(ones, twos, addend)
        augend = Mux(self.skips, ones, value)
        addend = Mux(self.skips, twos, stride << self._step_log2)[: len(value)]
        # Without a load, the clock may stop.
        with m.If(self.loads | self.scales):
            m.d.sync += self.skips.eq(self.loads)
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
        """Advance by one segment, in the row or to the next row."""
        space, granule_atoms = self._space, self._p.interleave_atoms
        granule = self.atom[(granule_atoms - 1).bit_length() :]
        low_bits = len(self.atom) - len(granule)
        next_row = join(self.next_row)
        space_of_row = granule_atoms - next_row[:low_bits]
        with m.If(self.shapes):
            m.d.sync += [
                self.atom.eq(next_row),
                self.inner_left.eq(self.inner_extent),
                self.row_ends.eq(_at_most(self.inner_extent, space_of_row)),
                self.row.eq(1),
                self.ended.eq(0),
            ]
        with m.Elif(self.advance & ~self.row_ends):
            m.d.sync += [
                self.atom.eq(Cat(Const(0, low_bits), increment(granule))),
                self.inner_left.eq(self.inner_left - space),
                self.row_ends.eq(_at_most(self.inner_left, space + granule_atoms)),
            ]
        with m.Elif(self.advance):
            m.d.sync += [
                self.atom.eq(next_row),
                self.inner_left.eq(self.walk.inner_extent),
                self.row_ends.eq(_at_most(self.walk.inner_extent, space_of_row)),
                self.row.eq(self.row + 1),
                self.ended.eq(self.ends),
            ]

    def _advance_wavefront(self, m: Module) -> None:
        """Advance to the wavefront of the next row: by whole wavefronts, and by one more if the
        remainder wraps."""
        walk, number = self.walk, self._number
        beyond = Signal(17)  # negative if the remainder does not wrap
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


def _at_most(atoms: Value, space: Value) -> Value:
    """Test whether ``atoms`` are no more than ``space``, which has fewer bits."""
    bits = len(space)
    return ~atoms[bits:].any() & (atoms[:bits] <= space)
