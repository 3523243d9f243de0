"""Markers of the DMA engine's harness: the numbers of atoms of a tile's wavefronts."""

from types import SimpleNamespace

from amaranth.hdl import Cat, Const, Cover, Module, Mux, Signal, Value

from rtl.dma.engine import WHOLE_ROW
from rtl.interface.encodings import PacketKind
from rtl.parameters import T3Parameters

__all__ = ["kind_of", "mark", "marker_of", "share"]


def mark(m: Module, dut, tile: SimpleNamespace, p: T3Parameters) -> None:
    """Step through the markers of the tile's wavefronts, and compute the current one."""
    template, command = tile.template, tile.command
    bits, edges = p.tile_atom_bits, Cat(command.outer_edge, command.inner_edge)
    tile.phase, tile.wave = Signal(2, name="phase"), Signal(p.wavefront_bits, name="wave")
    tile.last_wave = Signal(p.wavefront_bits, name="last_wave")
    tile.wave_outer, tile.wave_inner = (
        Signal(19, name="outer_before_wave"),
        Signal(19, name="inner_before_wave"),
    )
    tile.wave_part, tile.wave_run = Signal(16, name="wave_part"), Signal(16, name="wave_run")
    tile.wave_atoms = Signal(bits, name="wave_atoms")
    tile.marker = Signal(p.atom_address_bits, name="marker")
    tile.marker_lanes = Signal(p.channels, name="marker_lanes")
    minor_mask = ((1 << template.waves_inner_log2) - 1)[: p.wavefront_bits + 6]
    rows = share(tile.total_rows, tile.wave_outer, template.wave_outer_extent)
    whole = Mux(template.wave_outer_extent == 0, tile.total_rows, rows)
    run = share(tile.total_run, tile.wave_inner, tile.inner_size)
    waves = template.waves[edges]
    m.d.comb += [
        tile.last_wave.eq(Mux(tile.by_wavefront, command.wavefront, waves - 1)),
        tile.wave_outer.eq((tile.wave >> template.waves_inner_log2) * template.wave_outer_extent),
        tile.wave_inner.eq((tile.wave & minor_mask) << template.wave_inner_log2),
        tile.wave_part.eq(Mux(tile.by_wavefront, tile.outer_extent, whole)),
        tile.wave_run.eq(Mux(tile.by_wavefront, tile.inner_extent, run)),
        tile.wave_atoms.eq(tile.wave_part[:bits] * tile.wave_run[:bits]),
        tile.marker.eq(Cat(tile.wave_atoms, edges, Const(1, p.share_bits))),
        tile.marker_lanes.eq(
            Mux(tile.marking & (tile.phase == 3), 1 << (tile.slot + tile.wave) % p.channels, 0)
        ),
    ]
    tile.marked = (tile.marker_lanes & Cat(lane.ready for lane in dut.segments)).any()
    with m.If(~tile.marking):
        m.d.sync += [
            tile.phase.eq(Mux(tile.by_wavefront, 2, 0)),
            tile.wave.eq(Mux(tile.by_wavefront, command.wavefront, 0)),
        ]
    with m.Elif(tile.phase != 3):
        m.d.sync += tile.phase.eq(tile.phase + 1)
    with m.Elif(tile.marked):
        m.d.sync += [tile.phase.eq(0), tile.wave.eq(tile.wave + 1)]
    m.d.comb += [
        Cover(tile.marked & (tile.wave != 0) & (tile.wave_atoms != 0), "a second marker"),
        Cover(tile.marked & tile.by_wavefront & (tile.wave_atoms != 0), "a wavefront's marker"),
        Cover(tile.marked & tile.start.all(), "a marker of a tile without atoms"),
    ]


def kind_of(tile: SimpleNamespace) -> Value:
    """Compute the kind of the packets of the tile: the receiver tracks stores with markers."""
    store, update, tracked = (
        Const(kind.value, 2) for kind in (PacketKind.STORE, PacketKind.UPDATE, PacketKind.PLACE)
    )
    return Mux(tile.template.kind, update, Mux(tile.marks, tracked, store))


def marker_of(tile: SimpleNamespace) -> dict[str, Value]:
    """Compute the expected segment of a marker."""
    return {
        "kind": Const(PacketKind.END.value, 2),
        "op": tile.template.op,
        "dtype": tile.template.dtype,
        "atom_offset": Const(0),
        "peers": tile.peers,
        "generation": tile.generation,
        "atom": tile.marker,
        "length": Const(1),
        "offset": Const(0),
        "wave_inner_log2": Const(WHOLE_ROW),
        "wavefront": tile.wave,
        "slot": tile.slot,
    }


def share(total: Value, before: Value, size: Value) -> Value:
    """Compute a wavefront's part of a size, behind the wavefronts before it."""
    left = Mux(before < total, total - before, 0)
    return Mux(left < size, left, size)
