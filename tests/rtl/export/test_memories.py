"""Large memories of an export are cells; with these it behaves like the back end's Verilog."""

import json
import re
from collections import Counter

import pytest
from amaranth.hdl import Fragment, Module, Shape, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rtl.export.back_end import verilog_text
from rtl.export.cells import CELLS, SRAM_1R1W, SRAM_1RW, cell_text
from rtl.export.hierarchy import Hierarchies
from rtl.export.instances import cell_instances
from rtl.export.ports import documented_ports
from rtl.export.verilog import readable_verilog
from rtl.lib.memory_queue import MemoryQueue
from rtl.lib.single_port_memory import SinglePortMemory
from rtl.top import T3
from tests.support.exports import SMALL, exported
from tests.support.verilog_comparison import SIMULATORS, compare

CYCLES = 4000


class Memories(wiring.Component):
    """One memory of each kind, and one of few rows."""

    i: In(9)
    i_valid: In(1)
    ready: In(1)
    put: In(1)
    get: In(1)
    put_row: In(5)
    get_row: In(5)
    of_many: Out(10)
    of_few: Out(10)
    of_single: Out(9)

    def elaborate(self, platform):
        m = Module()
        m.submodules.many = many = MemoryQueue(unsigned(9), depth=19)
        m.submodules.few = few = MemoryQueue(unsigned(9), depth=16)
        m.submodules.single_port = single = SinglePortMemory(unsigned(9), depth=32)
        for queue, shown in ((many, self.of_many), (few, self.of_few)):
            m.d.comb += [
                queue.i.p.eq(self.i),
                queue.i.valid.eq(self.i_valid),
                queue.o.ready.eq(self.ready),
                shown.eq(queue.o.p ^ (queue.o.valid << 9)),
            ]
        m.d.comb += [
            single.i.eq(self.i),
            single.write.eq(self.put),
            single.read.eq(self.get & ~self.put),
            single.write_address.eq(self.put_row),
            single.read_address.eq(self.get_row),
            self.of_single.eq(single.o),
        ]
        return m


@pytest.fixture(scope="module")
def parts():
    return Hierarchies().parts(Memories(), "second")


def test_cells_by_ports_and_rows(parts):
    placed = {cell.path: (cell.module, cell.parameters) for cell in cell_instances(parts)}
    assert placed == {
        "many.storage.memory": (SRAM_1R1W, {"ROWS": 18, "WIDTH": 9, "ADDRESS_BITS": 5}),
        "single_port.memory": (SRAM_1RW, {"ROWS": 32, "WIDTH": 9, "ADDRESS_BITS": 5}),
    }


@pytest.mark.parametrize(
    "simulator",
    [
        pytest.param(name, marks=pytest.mark.verify if name == "verilator" else ())
        for name in SIMULATORS
    ],
)
def test_same_as_without_cells(parts, simulator, tmp_path):
    """Memories with and without cells behave alike, also if a word is read in the clock in which it
    is written, as in a queue of one word."""
    ports = [{"name": name, "direction": "input", "width": 1} for name in ("clk", "rst")]
    ports += [vars(port) for port in documented_ports(Memories())]
    cells = []
    for cell in CELLS:
        cells.append(tmp_path / f"{cell}.v")
        cells[-1].write_text(cell_text(cell))
    texts = verilog_text(Memories(), "first"), readable_verilog(parts, "Of a test.")
    changes, _ = compare(tmp_path, simulator, texts, ports, cells, cycles=CYCLES)
    assert changes > CYCLES // 20


class LargeMemories:
    """A platform that notes rows and width of the memories that an export must have as cells."""

    def __init__(self):
        self.found = Counter()

    def get_memory(self, memory):
        if memory.depth >= 16:
            self.found[memory.depth, Shape.cast(memory.shape).width] += 1
        return Memory.elaborate(memory, None)


def test_manifest_lists_every_large_memory():
    platform = LargeMemories()
    Fragment.get(T3(SMALL), platform)
    entries = json.loads(exported()["manifest.json"])["memories"]
    listed = Counter()
    for entry in entries:
        assert entry["bits"] == entry["rows"] * entry["width"]
        assert entry["count"] == len(set(entry["instances"]))
        listed[entry["rows"], entry["width"]] += entry["count"]
    assert listed == platform.found
    assert len(entries) > 1


def test_small_ones_stay_in_their_modules():
    rows = re.findall(r"^  reg \[\d+:0\] \w+ \[(\d+):0\];$", exported()["t3.v"], re.MULTILINE)
    assert rows and max(map(int, rows)) + 1 < 16
