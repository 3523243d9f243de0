"""Proofs of clock gating in DMA engine, DMA lanes and reduce unit."""

from amaranth.hdl import Cat, Module, Signal, Value

from rtl.dma.engine import DmaEngine, State
from rtl.dma.lane import DmaLane
from rtl.nmc.unit import NmcUnit
from rtl.parameters import T3Parameters

from .clock_gating import ClockGatingHarness, clock_gating
from .invariant import invariant

__all__ = ["PROOFS"]

_P = T3Parameters(
    contexts=1,
    system_channels=2,
    channels=2,
    dma_walkers=2,
    interleave_atoms=4,
    atom_bytes=8,
    tile_atom_bits=4,
    share_bits=2,
    address_bits=11,
    workgroup_bits=3,
    wavefronts=4,
    context_bits=1,
    tag_bits=1,
    sets=1,
    commands=2,
    regions=2,
    ranges=1,
    egress_slots=4,
    with_data=True,
)


class EngineHarness(ClockGatingHarness):
    """Harness of the DMA engine, whose state has a name."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        state = self._block.state
        m.d.comb += invariant(Cat(state == one for one in State).any(), "state: without a name")
        return m


class NmcHarness(ClockGatingHarness):
    """Harness of the reduce unit: a stage holds its registers without a new request before it."""

    def __init__(self, block: type[NmcUnit], *arguments):
        super().__init__(block, *arguments)
        self._moved = Signal(NmcUnit.LATENCY, init=-1)

    def elaborate(self, platform):
        m = super().elaborate(platform)
        unit = self._block
        m.d.sync += self._moved.eq(Cat(unit.i.valid, unit.moves))
        m.d.comb += invariant((unit.valid & ~unit.moves) == 0, "a request stands still")
        return m

    def relate(self, m: Module, register: Signal, unchanged: Value) -> None:
        stage = register.name.rpartition("_")[2]
        if register.name == "o__payload":
            stage = NmcUnit.LATENCY
        elif not stage.isdigit():
            return
        moved = self._moved[int(stage) - 1]
        m.d.comb += invariant(moved | unchanged, f"stage {stage}: {register.name} changes")


PROOFS = (
    clock_gating(
        "dma-engine",
        "a DMA engine",
        DmaEngine,
        _P,
        geometry="2 channels, 2 walkers, granules of 4 atoms, addresses of 8 bits",
        harness=EngineHarness,
    ),
    clock_gating(
        "dma-lane",
        "a DMA lane",
        DmaLane,
        _P,
        geometry="4 egress slots, atoms of 8 bytes, addresses of 8 bits",
    ),
    clock_gating(
        "nmc-unit",
        "a reduce unit",
        NmcUnit,
        _P,
        geometry="atoms of 8 bytes",
        harness=NmcHarness,
    ),
)
