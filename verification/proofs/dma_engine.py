"""Proof of the DMA engine: each command leaves once, as the segments of its tile."""

from functools import partial
from types import SimpleNamespace

from amaranth.hdl import Assert, Cat, Const, Cover, Elaboratable, Module, Mux, Signal, Value

from rtl.dma.engine import DmaEngine
from rtl.interface.configuration import RegionEntry
from rtl.interface.encodings import ErrorCode, Granularity
from rtl.lib.select import one_hot_first
from rtl.parameters import T3Parameters

from .dma_engine_inside import assert_inside
from .dma_engine_marks import kind_of, mark, marker_of, share
from .proof import Proof
from .streams import assert_held, free, moves

__all__ = ["PROOFS"]

_P = T3Parameters(
    contexts=1,
    system_channels=2,
    interleave_atoms=4,
    tile_atom_bits=4,
    share_bits=2,
    address_bits=13,
    workgroup_bits=3,
    wavefronts=4,
    context_bits=1,
    sets=1,
    commands=2,
    regions=2,
    ranges=2,
    peers=2,
)
_GRANULE = _P.interleave_atoms
_WHOLE = 15  # encodes that no wavefront ends within a row


class DmaEngineHarness(Elaboratable):
    """Harness that walks a command's tile row by row and compares the result with the segments.

    Each walker handles every `dma_walkers`-th row. Tables, limits and lanes are
    arbitrary in every cycle.
    """

    def __init__(self, engine: type = DmaEngine, *, channels: int, walkers: int):
        self._engine = engine
        self._p = T3Parameters(**vars(_P) | {"channels": channels, "dma_walkers": walkers})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self._engine(self._p)
        free(m, dut.ready.valid, dut.ready.p, dut.copies.valid, dut.copies.p)
        free(m, dut.maps, dut.launch_configuration, dut.limits)
        for lane in dut.segments:
            free(m, lane.ready)
        takes_ready, takes_copy = Signal(), Signal()
        m.d.comb += [takes_ready.eq(moves(dut.ready)), takes_copy.eq(moves(dut.copies))]

        tile = self._tile(m, dut, takes_ready, takes_copy)
        self._walk(m, dut, tile, takes_ready | takes_copy)
        self._assert_choice(m, dut, tile, takes_ready, takes_copy)
        self._assert_segments(m, dut, tile)
        self._assert_contained(m, dut, tile)
        assert_inside(m, dut, tile)
        for index, lane in enumerate(dut.segments):
            assert_held(m, lane, f"segments_{index}")
        return m

    def _tile(self, m: Module, dut, takes_ready: Signal, takes_copy: Signal) -> SimpleNamespace:
        """Record the current command: template and fields at the time it was taken."""
        template = Signal(dut.maps.commands.shape().elem_shape, name="template")
        command = Signal.like(dut.ready.p, name="command")
        tile = SimpleNamespace(
            template=template,
            command=command,
            peers=Signal(self._p.peers, name="peers"),
            generation=Signal.like(dut.launch_configuration.generation, name="generation"),
            copy=Signal(name="copy"),
            start=Signal(self._p.atom_address_bits, name="start"),
            slot=Signal(self._p.dispatch_index_bits, name="slot"),
            region=Signal(RegionEntry(self._p), name="region"),
            since=Signal(2, name="since"),  # cycles since the command was taken, at most 3
            busy=Signal(name="busy"),
            marking=Signal(name="marking"),
        )
        tile.marks = template.marks & ~tile.copy
        entry = dut.maps.ranges[dut.ready.p.range]
        slot = dut.ready.p.dispatch_index + entry.slot_offset
        with m.If(takes_ready | takes_copy):
            m.d.sync += [
                template.eq(dut.maps.commands[entry.command]),
                command.eq(dut.ready.p),
                tile.region.eq(dut.copies.p.region),
                tile.peers.eq(Mux(takes_copy, dut.copies.p.peers, entry.peers)),
                tile.slot.eq(Mux(takes_copy, 0, slot % (1 << self._p.workgroup_bits))),
                tile.generation.eq(dut.launch_configuration.generation),
                tile.copy.eq(takes_copy),
                tile.start.eq(Mux(takes_copy, dut.copies.p.start, dut.ready.p.start)),
            ]
        with m.If(takes_copy):
            m.d.sync += template.eq(dut.copies.p.command)
        # The next cycle's regions apply, except to a copy.
        with m.If(tile.busy & (tile.since == 1) & ~tile.copy):
            m.d.sync += tile.region.eq(dut.maps.regions[template.region])
        self._geometry(m, tile)
        return tile

    def _geometry(self, m: Module, tile: SimpleNamespace) -> None:
        """Compute the rows, and the atoms of a row, that the command moves, as integers."""
        template, command = tile.template, tile.command
        tile.by_wavefront = ~tile.copy & (template.granularity == Granularity.WAVEFRONT)
        outer_extent = Mux(
            ~tile.copy & tile.start.all(),  # a tile without atoms
            0,
            Mux(~tile.copy & command.outer_edge, template.outer_extent_edge, template.outer_extent),
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
        tile.inner_size = inner_size
        tile.any = (tile.outer_extent != 0) & (tile.inner_extent != 0)

    def _walk(self, m: Module, dut, tile: SimpleNamespace, takes: Value) -> None:
        """Simulate the walkers from the cycle on in which the geometry is known."""
        p = self._p
        template = tile.template
        tile.walks = Signal(name="walks")
        m.d.comb += tile.walks.eq(tile.busy & (tile.since == 3) & ~tile.marking)
        # Rows of a wavefront, 0 if the wavefront does not change.
        tile.wave_rows = Mux(tile.copy | tile.by_wavefront, 0, template.wave_outer_extent)
        tile.walkers = [self._walker(m, dut, tile, number) for number in range(p.dma_walkers)]
        self._lanes(m, dut, tile)
        for number, walker in enumerate(tile.walkers):
            self._advance(m, tile, walker, number)
        mark(m, dut, tile, self._p)
        with m.If(takes):
            m.d.sync += [tile.busy.eq(1), tile.since.eq(1)]
        with m.Elif(tile.marking):
            with m.If(tile.marked & (tile.wave == tile.last_wave)):
                m.d.sync += [tile.busy.eq(0), tile.marking.eq(0)]
        with m.Elif(tile.busy & ~tile.walks):
            m.d.sync += tile.since.eq(tile.since + 1)
            with m.If((tile.since == 2) & ~tile.any):
                m.d.sync += [tile.busy.eq(tile.marks), tile.marking.eq(tile.marks)]
        with m.Elif(tile.walks):
            ended = [~walker.walks | (walker.moves & walker.ends) for walker in tile.walkers]
            with m.If(Cat(ended).all()):
                m.d.sync += [tile.busy.eq(tile.marks), tile.marking.eq(tile.marks)]

    def _walker(self, m: Module, dut, tile: SimpleNamespace, number: int) -> SimpleNamespace:
        """Make a walker with row, offset and atom; a segment ends at a granule or with the row."""
        p = self._p
        walker = SimpleNamespace(
            row=Signal(17, name=f"row_{number}"),
            offset=Signal(16, name=f"offset_{number}"),
            row_start=Signal(p.atom_address_bits, name=f"row_start_{number}"),
            # Row within its wavefront, found without a division.
            wave_row=Signal(16, name=f"wave_row_{number}"),
            wavefront=Signal(p.wavefront_bits, name=f"wavefront_{number}"),
            walks=Signal(name=f"walks_{number}"),
            inside=Signal(name=f"inside_{number}"),
            served=Signal(p.channels, name=f"served_{number}"),
            moves=Signal(name=f"moves_{number}"),
            ends=Signal(name=f"ends_{number}"),
        )
        walker.atom = (walker.row_start + walker.offset)[: p.atom_address_bits]
        left = tile.inner_extent - walker.offset
        rest = _GRANULE - walker.atom % _GRANULE
        walker.length = Mux(left < rest, left, rest)
        walker.row_ends = walker.offset + walker.length == tile.inner_extent
        blocks = Value.cast(walker.atom)[(_GRANULE - 1).bit_length() :]
        channel = blocks.xor()  # one of two channels
        m.d.comb += [
            walker.walks.eq(tile.walks & (walker.row < tile.outer_extent)),
            walker.inside.eq(self._is_inside(tile, walker.atom, walker.length)),
            walker.served.eq(
                Cat(
                    walker.walks & walker.inside & (channel == index) for index in range(p.channels)
                )
            ),
            walker.ends.eq(walker.row_ends & (walker.row + p.dma_walkers >= tile.outer_extent)),
        ]
        return walker

    def _is_inside(self, tile: SimpleNamespace, atom: Value, length: Value) -> Value:
        """Signal that the command's region contains all atoms of a segment; sums do not wrap."""
        region = tile.region
        return region.enable & (region.base <= atom) & (atom + length <= region.limit)

    def _lanes(self, m: Module, dut, tile: SimpleNamespace) -> None:
        """Choose the walker that each lane serves; an offer stays until it is taken."""
        tile.offers, tile.kept = [], []
        for index, lane in enumerate(dut.segments):
            wants = Cat(walker.served[index] for walker in tile.walkers)
            kept = Signal.like(wants, name=f"kept_{index}")
            offers = Signal.like(wants, name=f"offers_{index}")
            m.d.comb += offers.eq(Mux(kept.any(), kept, one_hot_first(wants)))
            m.d.sync += kept.eq(Mux(lane.ready, 0, offers))
            tile.offers.append(offers)
            tile.kept.append(kept)
        for number, walker in enumerate(tile.walkers):
            taken = Cat(
                offers[number] & lane.ready
                for offers, lane in zip(tile.offers, dut.segments, strict=True)
            )
            m.d.comb += walker.moves.eq(walker.walks & (~walker.served.any() | taken.any()))

    def _advance(self, m: Module, tile: SimpleNamespace, walker, number: int) -> None:
        """Start in row ``number``, and step on when a segment has left."""
        template = tile.template
        begin = Mux(tile.by_wavefront, tile.command.wavefront, 0)
        with m.If(tile.busy & ~tile.walks):
            wave_row, wavefront = self._rows_on(tile, Const(0, 16), begin, number)
            m.d.sync += [
                walker.row.eq(number),
                walker.offset.eq(0),
                walker.row_start.eq(tile.start + number * template.stride),
                walker.wave_row.eq(wave_row),
                walker.wavefront.eq(wavefront),
            ]
        with m.Elif(walker.moves):
            m.d.sync += walker.offset.eq(walker.offset + walker.length)
            with m.If(walker.row_ends):
                step = self._p.dma_walkers
                wave_row, wavefront = self._rows_on(tile, walker.wave_row, walker.wavefront, step)
                m.d.sync += [
                    walker.offset.eq(0),
                    walker.row.eq(walker.row + step),
                    walker.row_start.eq(walker.row_start + step * template.stride),
                    walker.wave_row.eq(wave_row),
                    walker.wavefront.eq(wavefront),
                ]

    def _rows_on(self, tile: SimpleNamespace, wave_row, wavefront, rows: int):
        """Step row and wavefront by some rows, one after the other."""
        for _ in range(rows):
            next_one = (wave_row + 1 == tile.wave_rows) & (tile.wave_rows != 0)
            step = Mux(next_one, 1 << tile.template.waves_inner_log2, 0)
            wave_row = Mux(next_one, 0, wave_row + 1)[:16]
            wavefront = (wavefront + step)[: self._p.wavefront_bits]
        return wave_row, wavefront

    def _assert_choice(self, m: Module, dut, tile, takes_ready: Signal, takes_copy: Signal) -> None:
        admitted = Signal()
        picks = takes_ready & dut.ready.p.last
        waits = (dut.ready.valid & admitted) | dut.copies.valid
        m.d.comb += [
            admitted.eq(dut.ready.p.dispatch_index < dut.limits[dut.ready.p.range]),
            Assert(~(takes_ready & takes_copy), "two commands are taken"),
            Assert(
                ~(takes_ready | takes_copy) | ~tile.busy, "taken before the previous one has left"
            ),
            Assert(~takes_ready | admitted, "taken before the peers admit the command"),
            Assert(
                ~(waits & ~tile.busy) | takes_ready | takes_copy,
                "an admitted command is not taken",
            ),
            Assert(dut.issued == picks, "issued: differs from a workgroup's last command"),
            Assert(
                dut.idle == ~(tile.busy | dut.ready.valid | dut.copies.valid),
                "idle: differs from no command",
            ),
            Assert(
                dut.tables_free == (~tile.busy | tile.walks | tile.marking),
                "tables_free: differs from a known tile",
            ),
            Cover(takes_ready & tile.template.outer_extent.any(), "a second command"),
            Cover(dut.ready.valid & ~admitted & takes_copy, "a copy overtakes a waiting command"),
        ]

    def _segment(self, tile, walker) -> dict[str, Value]:
        """Compute the expected segment of a walker."""
        template = tile.template
        expected = {name: template[name] for name in ("op", "dtype", "atom_offset")}
        return expected | {
            "kind": kind_of(tile),
            "peers": tile.peers,
            "generation": tile.generation,
            "atom": walker.atom,
            "length": walker.length,
            "offset": walker.offset,
            "wave_inner_log2": Mux(tile.copy | tile.by_wavefront, _WHOLE, template.wave_inner_log2),
            "wavefront": walker.wavefront,
            "slot": tile.slot,
        }

    def _assert_segments(self, m: Module, dut, tile) -> None:
        for index, (lane, offers) in enumerate(zip(dut.segments, tile.offers, strict=True)):
            marks = tile.marker_lanes[index]
            m.d.comb += Assert(
                lane.valid == (offers.any() | marks), f"lane {index}: a surplus or missing segment"
            )
            for name, value in marker_of(tile).items():
                right = Value.cast(lane.p[name]) == Value.cast(value)
                m.d.comb += Assert(~marks | right, f"lane {index}: a marker with a wrong {name}")
            for number, walker in enumerate(tile.walkers):
                due = offers[number]
                for name, value in self._segment(tile, walker).items():
                    right = Value.cast(lane.p[name]) == Value.cast(value)
                    m.d.comb += Assert(~due | right, f"lane {index}: a segment with a wrong {name}")
                self._cover_segments(m, tile, walker, due, lane, f"lane {index}, walker {number}")
            wants = [walker.served[index] for walker in tile.walkers]
            if len(wants) > 1:
                m.d.comb += [
                    Cover(
                        wants[0] & wants[1] & offers[0] & lane.ready, f"lane {index}: two requests"
                    ),
                    Cover(wants[0] & offers[1] & lane.ready, f"lane {index}: an offer stays"),
                ]
        walker = tile.walkers[0]
        m.d.comb += [
            Cover(tile.busy & (tile.since == 2) & ~tile.any, "a command that moves no atom"),
            Cover(walker.walks & ~walker.served.any(), "a segment of a channel that is not served")
            if len(dut.segments) == 1
            else Cover(walker.walks & (walker.row_start > walker.atom), "the address wraps"),
        ]

    def _assert_contained(self, m: Module, dut, tile) -> None:
        for index, lane in enumerate(dut.segments):
            inside = self._is_inside(tile, lane.p.atom, lane.p.length)
            m.d.comb += Assert(
                ~lane.valid | tile.marking | inside,
                f"lane {index}: a segment leaves its command's region",
            )
        dropped = Cat(walker.walks & ~walker.inside for walker in tile.walkers)
        report = dut.error.report
        dispatch_index = Mux(tile.copy, 0, tile.command.dispatch_index)
        wavefront = Mux(tile.by_wavefront, tile.command.wavefront, 0)
        m.d.comb += [
            Assert(dut.error.valid == dropped.any(), "error: differs from a dropped segment"),
            Assert(
                ~dut.error.valid
                | (
                    (report.code == ErrorCode.DMA_OUT_OF_REGION)
                    & (report.dispatch_index == dispatch_index)
                    & (report.wavefront == wavefront)
                ),
                "error: wrong code or tile",
            ),
        ]
        for number, walker in enumerate(tile.walkers):
            where = f"walker {number}"
            ends = tile.region.limit == walker.atom + walker.length
            m.d.comb += [
                Cover(walker.moves & ~walker.inside & tile.region.enable, f"{where}: outside"),
                Cover(walker.moves & walker.inside & ends, f"{where}: up to the end of the region"),
            ]

    def _cover_segments(self, m: Module, tile, walker, due, lane, where: str) -> None:
        moves_ = due & lane.ready
        rows = self._p.dma_walkers
        m.d.comb += [
            Cover(moves_ & (walker.row >= rows) & (walker.offset != 0), f"{where}: a second row"),
            Cover(moves_ & tile.by_wavefront & (tile.inner_before != 0), f"{where}: a later tile"),
            Cover(moves_ & (walker.wavefront != 0) & ~tile.by_wavefront, f"{where}: next wave"),
            Cover(due & ~lane.ready, f"{where}: the lane is full"),
        ]


def _proof(channels: int, walkers: int) -> Proof:
    return Proof(
        name=f"dma-engine-{channels}" + (f"-walkers-{walkers}" if walkers != 2 else ""),
        statement="A command is taken when it is admitted and the previous one has left; it leaves "
        "once, as segments that contain each atom of its tile once and end at a granule or with "
        "the row, each in the lane of its channel with the right fields, and those of one walker "
        "in row-major order; no other segment leaves; a segment outside the command's region is "
        "dropped and reported; behind a ready command that marks tiles, a marker with the number "
        "of its atoms leaves for each wavefront; an offer to a lane stays until it is taken; later "
        "changes of template or range do not affect a command",
        blocks=(DmaEngine,),
        harness=partial(DmaEngineHarness, channels=channels, walkers=walkers),
        geometry=f"{channels} of 2 channels, {walkers} walkers, granules of 4 atoms, addresses of "
        "8 bits, 4 wavefronts, tiles of the reference",
        reason="addresses are only added, and channels only compared",
        depth=1,
        cover_depth=14,
        timeout_s=900,
        slow=True,
    )


PROOFS = (_proof(1, 2), _proof(2, 2), _proof(2, 1), _proof(2, 4))
