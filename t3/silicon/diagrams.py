"""Timing diagrams of the hardware page."""

from collections.abc import Iterator

from rtl.dma.engine import DmaEngine
from rtl.dma.lane import DmaLane
from rtl.interface.encodings import Action, Datatype, Granularity, Operation
from rtl.nmc.unit import NmcUnit
from rtl.parameters import T3Parameters
from rtl.registers import map as register_map
from rtl.registers.port import Registers
from rtl.tracker.tracker import Tracker
from rtl.trigger.trigger import Trigger

from .waveforms import Diagram, Lane

__all__ = ["diagrams"]

_P = T3Parameters(contexts=1, channels=1, credit_window=2, sets=2, with_data=True)
_COMMAND = {
    "outer_extent": 2,
    "inner_extent": 4,
    "stride": 64,
    "wave_outer_extent": 2,
    "wave_inner_log2": 2,
    "waves": [1] * 4,
}
_CLEARED = 4  # cycles in which the hardware clears these small tables


def _tracker() -> Diagram:
    issue_ack = {
        "issue_acks.0.valid": 1,
        "issue_acks.0.payload.dispatch_index": 6,
        "issue_acks.0.payload.count": 1,
    }
    end = {
        f"ends.0.{name}": value
        for name, value in {
            "valid": 1,
            "payload.end": 1,
            "payload.dispatch_index": 6,
            "payload.tile_atoms": 2,
            "payload.shares": 1,
            "payload.total": 1,
        }.items()
    }
    return Diagram(
        name="tracker",
        title="Tracker: the last of two updates completes a tile of two atoms",
        component=Tracker(_P),
        skip=_CLEARED,
        settings={"ways.0": (1 << _P.ways) - 1, "o.ready": 1},
        stimulus={
            0: end | issue_ack | {"issue_acks.0.payload.atom": 41},
            1: end,
            3: issue_ack | {"issue_acks.0.payload.atom": 40},
        },
        lanes=[
            Lane(signal="issue_acks.0.valid"),
            Lane(signal="issue_acks.0.ready"),
            Lane(signal="issue_acks.0.payload.atom", when="issue_acks.0.valid"),
            Lane(signal="ends.0.valid"),
            Lane(signal="ends.0.ready"),
            Lane(signal="ends.0.payload.tile_atoms", when="ends.0.valid"),
            Lane(signal="ends.0.payload.shares", when="ends.0.valid"),
            Lane(signal="o.valid"),
            Lane(signal="o.payload.dispatch_index", when="o.valid"),
            Lane(signal="o.payload.start", when="o.valid"),
        ],
        cycles=10,
    )


def _trigger(granularity: Granularity) -> Diagram:
    maps = {
        "ranges": [
            {"enable": 1, "first": 0, "last": 7, "action": Action.DMA, "command": 0},
            *[{}] * (_P.ranges - 1),
        ],
        "commands": [
            _COMMAND | {"granularity": granularity, "waves": [2] * 4},
            *[{}] * (_P.commands - 1),
        ],
    }
    tile = {"completions.valid": 1, "completions.payload.dispatch_index": 6}
    kind = granularity.name.lower()
    return Diagram(
        name=f"trigger-{kind}",
        title=f"Trigger unit: two tiles of a workgroup, granularity {kind}",
        component=Trigger(_P),
        skip=_CLEARED,
        settings={"maps": maps, "ready.ready": 1},
        stimulus={
            0: tile | {"completions.payload.start": 40},
            1: tile | {"completions.payload.wavefront": 1, "completions.payload.start": 44},
            2: tile | {"completions.payload.wavefront": 1, "completions.payload.start": 44},
        },
        lanes=[
            Lane(signal="completions.valid"),
            Lane(signal="completions.ready"),
            Lane(signal="completions.payload.wavefront", when="completions.valid"),
            Lane(signal="complete"),
            Lane(signal="ready.valid"),
            Lane(signal="ready.payload.wavefront", when="ready.valid"),
            Lane(signal="ready.payload.start", when="ready.valid"),
            Lane(signal="ready.payload.last", when="ready.valid"),
        ],
        cycles=10,
    )


def _engine() -> Diagram:
    command = _COMMAND | {"granularity": Granularity.WORKGROUP, "atom_offset": 1000}
    maps = {
        "commands": [command, *[{}] * (_P.commands - 1)],
        "regions": [{"enable": 1, "limit": 256}, *[{}] * (_P.regions - 1)],
    }
    # One channel for the whole memory: every segment is served here.
    p = T3Parameters(contexts=1, channels=1, system_channels=1, with_data=True)
    ready = {"ready.valid": 1, "ready.payload.start": 38, "ready.payload.last": 1}
    return Diagram(
        name="dma-engine",
        title="DMA engine: two rows of four atoms, the interleave cuts each row",
        component=DmaEngine(p),
        settings={
            "maps": maps,
            "limits": [8] * p.ranges,
            "segments.0.ready": 1,
            "launch_configuration.workgroups": 8,
        },
        stimulus={1: ready},
        lanes=[
            Lane(signal="ready.valid"),
            Lane(signal="ready.ready"),
            Lane(signal="issued"),
            Lane(signal="segments.0.valid"),
            Lane(signal="segments.0.payload.atom", when="segments.0.valid"),
            Lane(signal="segments.0.payload.length", when="segments.0.valid"),
            Lane(signal="segments.0.payload.atom_offset", when="segments.0.valid"),
            Lane(signal="idle"),
        ],
        cycles=11,
    )


def _lane() -> Diagram:
    segment = {
        "segments.valid": 1,
        "segments.payload.atom": 38,
        "segments.payload.length": 2,
        "segments.payload.atom_offset": 1000,
        "segments.payload.wave_inner_log2": 15,
    }
    return Diagram(
        name="dma-lane",
        title="DMA lane: a segment of two atoms, whose data return in the other order",
        component=DmaLane(_P),
        settings={"reads.ready": 1, "sends.ready": 1},
        stimulus={
            0: segment,
            6: {"returns.valid": 1, "returns.payload.slot": 1},
            7: {"returns.valid": 1, "returns.payload.slot": 0},
        },
        lanes=[
            Lane(signal="segments.valid"),
            Lane(signal="reads.valid"),
            Lane(signal="reads.payload.atom", when="reads.valid"),
            Lane(signal="reads.payload.tag", when="reads.valid"),
            Lane(signal="returns.valid"),
            Lane(signal="returns.payload.slot", when="returns.valid"),
            Lane(signal="sends.valid"),
            Lane(signal="sends.payload.atom", when="sends.valid"),
        ],
        cycles=13,
    )


def _nmc() -> Diagram:
    request = {"i.valid": 1, "i.payload.stored_epoch": 3, "i.payload.dtype": Datatype.FP16}
    one, two = 0x3C00, 0x4000
    return Diagram(
        name="nmc",
        title="Reduce unit: 1 + 1 and max(1, 2) in fp16, lane 0",
        component=NmcUnit(_P),
        settings={"epoch": 3},
        stimulus={
            1: request | {"i.payload.stored.0": one, "i.payload.operand.0": one},
            2: request
            | {
                "i.payload.stored.0": one,
                "i.payload.operand.0": two,
                "i.payload.op": Operation.MAX,
            },
        },
        lanes=[
            Lane(signal="i.valid"),
            Lane(signal="i.payload.op", when="i.valid"),
            Lane(signal="i.payload.stored.0", when="i.valid"),
            Lane(signal="i.payload.operand.0", when="i.valid"),
            Lane(signal="o.valid"),
            Lane(signal="o.payload.value.0", when="o.valid"),
        ],
        cycles=8,
    )


def _registers() -> Diagram:
    address = register_map.load()["WORKGROUPS"].address
    write = {"bus.awvalid": 1, "bus.awaddr": address, "bus.wvalid": 1, "bus.wdata": 24}
    return Diagram(
        name="registers",
        title="Register port: a write of WORKGROUPS",
        component=Registers(_P),
        settings={"bus.bready": 1},
        stimulus={1: write | {"bus.wstrb": 15}},
        lanes=[
            Lane(signal="bus.awvalid"),
            Lane(signal="bus.awready"),
            Lane(signal="bus.wvalid"),
            Lane(signal="bus.wready"),
            Lane(signal="bus.bvalid"),
            Lane(signal="bus.bresp", when="bus.bvalid"),
            Lane(signal="context.0.launch_configuration.workgroups", label="workgroups"),
        ],
        cycles=6,
    )


def diagrams() -> Iterator[Diagram]:
    """Yield the diagrams, each with its own component."""
    yield _tracker()
    for granularity in Granularity:
        yield _trigger(granularity)
    yield _engine()
    yield _lane()
    yield _nmc()
    yield _registers()
