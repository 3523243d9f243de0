"""DMA engine: each command leaves once, as the segments that its tile has, in their order."""

from functools import partial
from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.dma.engine import DmaEngine
from rtl.interface.encodings import Granularity
from rtl.parameters import T3Parameters

from .dma_engine_inside import assert_inside
from .proof import Proof
from .streams import assert_held, free, moves

__all__ = ["PROOFS"]

_P = T3Parameters(
    system_channels=2,
    interleave_atoms=4,
    address_bits=13,
    workgroup_bits=3,
    wavefronts=4,
    context_bits=1,
    sets=1,
    commands=2,
    regions=1,
    ranges=1,
)
_GRANULE = _P.interleave_atoms
_WHOLE = 15  # no wavefront ends within a row


class DmaEngineHarness(Elaboratable):
    """Walks the taken command's tile atom by atom in rows, and compares with the segments.

    Tables, dispatch order, admission and lanes do what they like in every cycle.
    """

    def __init__(self, engine: type = DmaEngine, *, channels: int):
        self._engine = engine
        self._p = T3Parameters(**vars(_P) | {"channels": channels})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._engine(self._p)
        free(m, dut.ready.valid, dut.ready.p, dut.copies.valid, dut.copies.p)
        free(m, dut.maps, dut.launch_configuration, dut.credit_limit_in)
        for lane in dut.segments:
            free(m, lane.ready)
        takes_ready, takes_copy = Signal(), Signal()
        m.d.comb += [takes_ready.eq(moves(dut.ready)), takes_copy.eq(moves(dut.copies))]

        tile = self._tile(m, dut, takes_ready, takes_copy)
        self._walk(m, dut, tile, takes_ready | takes_copy)
        self._assert_choice(m, dut, tile, takes_ready, takes_copy)
        self._assert_segments(m, dut, tile)
        assert_inside(m, dut, tile, self._segment(tile))
        for index, lane in enumerate(dut.segments):
            assert_held(m, lane, f"segments_{index}")
        return m

    def _tile(self, m: Module, dut, takes_ready: Signal, takes_copy: Signal) -> SimpleNamespace:
        """What the command in hand is: its template and its fields when it was taken."""
        template = Signal(dut.maps.commands.shape().elem_shape, name="template")
        command = Signal.like(dut.ready.p, name="command")
        tile = SimpleNamespace(
            template=template,
            command=command,
            copy=Signal(name="copy"),
            start=Signal(self._p.atom_address_bits, name="start"),
            workgroup=Signal(self._p.workgroup_bits, name="workgroup"),
            since=Signal(2, name="since"),  # cycles since it was taken, 3 for more
            busy=Signal(name="busy"),
        )
        number = Mux(takes_copy, dut.copies.p.command, dut.ready.p.command)
        with m.If(takes_ready | takes_copy):
            m.d.sync += [
                template.eq(dut.maps.commands[number]),
                command.eq(dut.ready.p),
                tile.copy.eq(takes_copy),
                tile.start.eq(Mux(takes_copy, dut.copies.p.start, dut.ready.p.start)),
            ]
        # By the dispatch order of the cycle after.
        first, workgroups = (
            dut.launch_configuration.first_workgroup,
            dut.launch_configuration.workgroups,
        )
        sum_ = command.dispatch_index + first
        with m.If(tile.since == 1):
            m.d.sync += tile.workgroup.eq(
                Mux(tile.copy, 0, Mux(sum_ < workgroups, sum_, sum_ - workgroups))
            )
        self._geometry(m, tile)
        return tile

    def _geometry(self, m: Module, tile: SimpleNamespace) -> None:
        """Rows and atoms of a row that the command moves, as integers; none if it has none."""
        template, command = tile.template, tile.command
        tile.by_wavefront = ~tile.copy & (template.granularity == Granularity.WAVEFRONT)
        outer_extent = Mux(
            ~tile.copy & command.outer_edge, template.outer_extent_edge, template.outer_extent
        )
        inner_extent = Mux(
            ~tile.copy & command.inner_edge, template.inner_extent_edge, template.inner_extent
        )
        minor_mask = ((1 << template.waves_inner_log2) - 1)[: self._p.wavefront_bits + 6]
        minor = command.wavefront & minor_mask
        major = command.wavefront >> template.waves_inner_log2
        outer_before = Signal(19, name="outer_before")
        inner_before = Signal(19, name="inner_before")
        inner_size = Signal(16, name="inner_size")
        m.d.comb += [
            outer_before.eq(major * template.wave_outer_extent),
            inner_before.eq(minor << template.wave_inner_log2),
            inner_size.eq(1 << template.wave_inner_log2),
        ]
        tile.outer_before, tile.inner_before = outer_before, inner_before
        tile.total_rows, tile.total_run = outer_extent, inner_extent

        def share(total, before, size):
            left = Mux(before < total, total - before, 0)
            return Mux(left < size, left, size)

        tile.outer_extent, tile.inner_extent = (
            Signal(16, name="outer_extent"),
            Signal(16, name="inner_extent"),
        )
        m.d.comb += [
            tile.outer_extent.eq(
                Mux(
                    tile.by_wavefront,
                    share(outer_extent, outer_before, template.wave_outer_extent),
                    outer_extent,
                )
            ),
            tile.inner_extent.eq(
                Mux(tile.by_wavefront, share(inner_extent, inner_before, inner_size), inner_extent)
            ),
        ]
        tile.any = (tile.outer_extent != 0) & (tile.inner_extent != 0)

    def _walk(self, m: Module, dut, tile: SimpleNamespace, takes: Value) -> None:
        """Row, offset in it, and the atom there; a segment ends at a granule, or with the row."""
        p = self._p
        tile.row, tile.offset = Signal(16, name="row"), Signal(16, name="offset")
        tile.row_start = Signal(p.atom_address_bits, name="row_start")
        tile.atom = (tile.row_start + tile.offset)[: p.atom_address_bits]
        left = tile.inner_extent - tile.offset
        room = _GRANULE - tile.atom % _GRANULE
        tile.length = Mux(left < room, left, room)
        blocks = Value.cast(tile.atom)[(_GRANULE - 1).bit_length() :]
        tile.channel = blocks.xor()  # of two
        tile.walks = Signal(name="walks")
        served = Signal(p.channels, name="served")
        m.d.comb += [
            tile.walks.eq(tile.busy & (tile.since == 3)),
            served.eq(Cat(tile.channel == index for index in range(p.channels))),
        ]
        tile.served = served
        stops = (served & ~Cat(lane.ready for lane in dut.segments)).any()
        # Which wavefront's rows these are, without a division: 0 if all are of one.
        tile.wave_row = Signal(16, name="wave_row")
        tile.wavefront = Signal(p.wavefront_bits, name="wavefront")
        fixed = tile.copy | tile.by_wavefront
        with m.If(takes):
            m.d.sync += [tile.busy.eq(1), tile.since.eq(1)]
        with m.Elif(tile.busy & ~tile.walks):
            m.d.sync += [
                tile.since.eq(tile.since + 1),
                tile.row.eq(0),
                tile.offset.eq(0),
                tile.wave_row.eq(0),
                tile.row_start.eq(tile.start),
                tile.wavefront.eq(Mux(tile.by_wavefront, tile.command.wavefront, 0)),
            ]
            with m.If((tile.since == 2) & ~tile.any):
                m.d.sync += tile.busy.eq(0)
        with m.Elif(tile.walks & ~stops):
            m.d.sync += tile.offset.eq(tile.offset + tile.length)
            with m.If(tile.offset + tile.length == tile.inner_extent):
                m.d.sync += [
                    tile.offset.eq(0),
                    tile.row.eq(tile.row + 1),
                    tile.row_start.eq(tile.row_start + tile.template.stride),
                    tile.busy.eq(tile.row + 1 != tile.outer_extent),
                    tile.wave_row.eq(tile.wave_row + 1),
                ]
                with m.If(~fixed & (tile.wave_row + 1 == tile.template.wave_outer_extent)):
                    m.d.sync += [
                        tile.wave_row.eq(0),
                        tile.wavefront.eq(tile.wavefront + (1 << tile.template.waves_inner_log2)),
                    ]

    def _assert_choice(self, m: Module, dut, tile, takes_ready: Signal, takes_copy: Signal) -> None:
        admitted = Signal()
        picks = takes_ready & dut.ready.p.last
        waits = (dut.ready.valid & admitted) | dut.copies.valid
        m.d.comb += [
            admitted.eq(
                dut.ready.p.dispatch_index + dut.launch_configuration.shift < dut.credit_limit_in
            ),
            Assert(~(takes_ready & takes_copy), "two commands are taken"),
            Assert(
                ~(takes_ready | takes_copy) | ~tile.busy, "taken before the one before has left"
            ),
            Assert(~takes_ready | admitted, "taken before the downstream GPU admits it"),
            Assert(
                ~(waits & ~tile.busy) | takes_ready | takes_copy,
                "an admitted command waits in vain",
            ),
            Assert(dut.issued == picks, "issued: not with a workgroup's last command"),
            Assert(
                dut.idle == ~(tile.busy | dut.ready.valid | dut.copies.valid),
                "idle: not without commands",
            ),
            Cover(takes_ready & tile.template.outer_extent.any(), "a second command"),
            Cover(dut.ready.valid & ~admitted & takes_copy, "a copy goes before one not admitted"),
        ]

    def _segment(self, tile) -> dict[str, Value]:
        """What a segment is, apart from its length."""
        template = tile.template
        expected = {name: template[name] for name in ("context", "kind", "op", "dtype")}
        return expected | {
            "atom": tile.atom,
            "offset": tile.offset,
            "remote": (tile.atom + template.atom_offset)[: len(tile.atom)],
            "wave_inner_log2": Mux(tile.copy | tile.by_wavefront, _WHOLE, template.wave_inner_log2),
            "wavefront": tile.wavefront,
            "workgroup": tile.workgroup,
        }

    def _assert_segments(self, m: Module, dut, tile) -> None:
        expected = self._segment(tile) | {"length": tile.length}
        for index, lane in enumerate(dut.segments):
            due = tile.walks & tile.served[index]
            m.d.comb += Assert(lane.valid == due, f"lane {index}: a segment too many or too few")
            for name, value in expected.items():
                right = Value.cast(lane.p[name]) == Value.cast(value)
                m.d.comb += Assert(~due | right, f"lane {index}: {name} of a segment is wrong")
            m.d.comb += [
                Cover(moves(lane) & (tile.row == 2) & (tile.offset != 0), f"lane {index}: row 2"),
                Cover(
                    moves(lane) & tile.by_wavefront & (tile.inner_before != 0), "a wavefront's part"
                ),
                Cover(
                    moves(lane) & (tile.wavefront != 0) & ~tile.by_wavefront, "the next wavefront"
                ),
                Cover(due & ~lane.ready, f"lane {index}: full"),
            ]
        m.d.comb += [
            Cover(tile.busy & (tile.since == 2) & ~tile.any, "a command that moves nothing"),
            Cover(tile.walks & ~tile.served.any(), "a segment of a channel that is not served")
            if len(dut.segments) == 1
            else Cover(tile.walks & (tile.row_start > tile.atom), "around the address space"),
        ]


PROOFS = tuple(
    Proof(
        name=f"dma-engine-{channels}",
        statement="A command is taken when it is admitted and the one before has left, and leaves "
        "once: as segments in row-major order that hold each atom of its tile once and end at a "
        "granule or with the row, each in its channel's lane, with its fields; no other segment "
        "leaves; a template or dispatch order that changes meanwhile does not touch it",
        blocks=(DmaEngine,),
        harness=partial(DmaEngineHarness, channels=channels),
        geometry=f"{channels} of 2 channels, granules of 4 atoms, addresses of 8 bits, "
        "4 wavefronts, the reference's tiles",
        reason="addresses are only added up, and channels compared",
        depth=1,
        cover_depth=14,
        slow=True,
    )
    for channels in (1, 2)
)
