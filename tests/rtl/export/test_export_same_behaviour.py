"""The export behaves in every cycle like the back end's Verilog, whose clock never stops."""

import json

import pytest
from amaranth.hdl import unsigned
from amaranth.lib import data

from rtl.blocks import BLOCKS, TOP
from rtl.export.back_end import verilog_text
from rtl.export.cells import CELLS, cell_text
from rtl.export.hierarchy import Hierarchies
from rtl.export.names import identifier
from rtl.export.ports import documented_ports
from rtl.export.verilog import readable_verilog
from rtl.interface.encodings import PacketKind
from rtl.lib.gating import has_clock_enable
from rtl.link.flow import LinkFlow
from rtl.link.parameters import LinkParameters
from tests.support.exports import SMALL, cells, exported, written
from tests.support.verilog_comparison import SIMULATORS, compare

CYCLES = 2000
# A queue, and a block with memories.
_QUICK = {"issue_ack_queue", "tracker_bank"}
# A build with Verilator takes ten seconds.
SOME_SIMULATORS = [
    pytest.param(name, marks=pytest.mark.verify if name == "verilator" else ())
    for name in SIMULATORS
]


def ports_of(file):
    entries = json.loads(exported()["manifest.json"])["files"]
    return next(entry["ports"] for entry in entries if entry["file"] == file)


def plain(block, ports):
    """Return the text of the block as a module named ``first``."""
    text = verilog_text(BLOCKS[block].make(SMALL), "first")
    for port in ports:  # keywords are escaped there
        if port["name"].endswith("_") and identifier(port["name"][:-1]) == port["name"]:
            text = text.replace(f"\\{port['name'][:-1]} ", f"{port['name']} ")
    return text


def compared(block, folder, simulator, **options):
    name = "t3" if block == TOP else f"t3_{block}"
    ports = ports_of(f"{name}.v")
    readable = exported()[f"{name}.v"].replace(f"module {name} (", "module second (")
    texts = plain(block, ports), readable
    written(folder, exported())
    return compare(folder, simulator, texts, ports, cells(folder), cycles=CYCLES, **options)


def _run(block, simulator):
    is_quick = block in _QUICK and simulator == "icarus"
    return pytest.param(block, simulator, marks=() if is_quick else pytest.mark.verify)


@pytest.mark.parametrize(
    ("block", "simulator"),
    [
        _run(name, simulator)
        for name, block in BLOCKS.items()
        if block.is_exported
        for simulator in SIMULATORS
    ],
)
def test_random_inputs(block, simulator, tmp_path):
    """The seed is fixed and is part of the bench."""
    changes, idle = compared(block, tmp_path, simulator)
    # Random addresses rarely lie in a region with random bounds.
    assert changes > CYCLES // (100 if block == "location_lookup" else 20)
    if has_clock_enable(BLOCKS[block].make(SMALL)):
        assert idle < CYCLES * 19 // 20
        # Random flits arrive at all times.
        assert idle > CYCLES // 20 or block == "link_endpoint"


@pytest.mark.parametrize("simulator", SOME_SIMULATORS)
def test_without_clock_gates(simulator, tmp_path):
    compared("issue_ack_queue", tmp_path, simulator, defines=("T3_NO_CLOCK_GATING",))


def link_flow():
    """Link flow whose times are so short that random inputs reach them."""
    link = LinkParameters(
        replay_depth=4,
        receive_depth=4,
        timeout_cycles=4,
        idle_cycles=2,
        down_cycles=64,
        lifetime_cycles=8,
        sequence_bits=5,
    )
    packet = data.StructLayout({"kind": PacketKind, "atom": 4, "data": 10})
    return LinkFlow(packet, unsigned(8), link, sends=True, receives=True, has_words=True)


@pytest.mark.parametrize("simulator", SOME_SIMULATORS)
def test_parts_that_begin_anew(simulator, tmp_path):
    """A ResetInserter also resets the submodules. The test exports the flow alone: random flits are
    corrupt for a link endpoint, which therefore never sends."""
    readable = readable_verilog(Hierarchies().parts(link_flow(), "second"), "Of a test.")
    ports = [{"name": name, "direction": "input", "width": 1} for name in ("clk", "rst")]
    ports += [vars(port) for port in documented_ports(link_flow())]
    written(tmp_path, {f"{cell}.v": cell_text(cell) for cell in CELLS})
    texts = verilog_text(link_flow(), "first"), readable
    changes, _ = compare(tmp_path, simulator, texts, ports, cells(tmp_path), cycles=CYCLES)
    assert changes > CYCLES // 5
