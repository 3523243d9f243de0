"""Assertions and covers of the exported Verilog, and a simulation in which they are checked."""

import re

import pyslang
import pytest
from amaranth.hdl import Module, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from rtl.blocks import BLOCKS
from rtl.export.cells import CELLS, cell_text
from rtl.export.hierarchy import Hierarchies
from rtl.export.ports import documented_ports
from rtl.export.verilog import readable_verilog
from rtl.lib.memory_queue import MemoryQueue
from rtl.lib.queue import Queue
from rtl.lib.round_robin import Merge
from tests.support.exports import SMALL, cells, written
from tests.support.verilog_tools import run, verilated
from tests.support.verilog_traffic import SEED, traffic_bench

SHAPE = unsigned(8)
# The output of the faulty block stalls only with the plusarg ``impatient``.
WRONG = """
  reg taken = 1;
  initial if ($test$plusargs("impatient") != 0) taken = 0;
  impatient impatient(.clk(clk), .rst(rst), .o__ready(taken), .o__valid(), .o__payload());
"""


class Chain(wiring.Component):
    """Three queues whose ends are merged into one more."""

    i: In(stream.Signature(SHAPE)).array(3)
    o: Out(stream.Signature(SHAPE))

    def elaborate(self, platform):
        m = Module()
        m.submodules.merge = merge = Merge(SHAPE, 3)
        m.submodules.last = last = MemoryQueue(SHAPE, depth=20)
        for number in range(3):
            m.submodules[f"queue_{number}"] = queue = Queue(SHAPE, depth=2 + number)
            wiring.connect(m, wiring.flipped(self.i[number]), queue.i)
            wiring.connect(m, queue.o, merge.i[number])
        wiring.connect(m, merge.o, last.i)
        wiring.connect(m, last.o, wiring.flipped(self.o))
        return m


class Impatient(wiring.Component):
    """Faulty block that makes an offer in every other cycle, whether or not the last one was
    accepted.
    """

    o: Out(stream.Signature(SHAPE))

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.p.eq(5)
        m.d.sync += self.o.valid.eq(~self.o.valid)
        return m


def text_of(component, name, **options):
    return readable_verilog(Hierarchies().parts(component, name), "Of a test.", **options)


def asserted(text):
    """Return each module's text between the guards."""
    blocks = re.findall(
        r"^module (\w+) (?:(?!^endmodule).)*?^`ifdef T3_ASSERT\n(.*?)^`endif$",
        text,
        re.DOTALL | re.MULTILINE,
    )
    return {name: [line.strip() for line in block.splitlines()] for name, block in blocks}


def test_queue():
    stays = "o__valid && !o__ready |=> o__valid && $stable(o__payload)"
    assert asserted(text_of(Queue(SHAPE, depth=4), "queue")) == {
        "queue": [
            "default clocking @(posedge clk); endclocking",
            "default disable iff (rst);",
            "cover_i_stalled: cover property (i__valid && !i__ready);",
            "cover_i_moved: cover property (i__valid && i__ready);",
            f"assert_o_held: assert property ({stays});",
            "cover_o_stalled: cover property (o__valid && !o__ready);",
            "cover_o_moved: cover property (o__valid && o__ready);",
            "assert_level_in_range: assert property (level <= 4);",
        ]
    }


def test_merge():
    """The output of a merge follows its inputs, and may change until it is taken."""
    of = asserted(text_of(Merge(SHAPE, 2), "merge"))
    assert (
        "assert_grant_one_hot: assert property ($onehot0(grant));" in of["merge__round_robin_pick"]
    )
    assert not any(line.startswith("assert_") for line in of["merge"])
    assert "cover_i_1_stalled: cover property (i__1__valid && !i__1__ready);" in of["merge"]


def test_slang_reads_them():
    text = text_of(Chain(), "chain", holds_inputs=True) + "".join(map(cell_text, CELLS))
    compilation = pyslang.ast.Compilation()
    compilation.addSyntaxTree(pyslang.syntax.SyntaxTree.fromText(f"`define T3_ASSERT\n{text}"))
    assert [str(found.code) for found in compilation.getAllDiagnostics() if found.isError()] == []


def test_what_comes_in_is_checked_where_it_is_asked_for():
    held = "assert_i_held: assert property (i__valid && !i__ready |=> "
    for holds in (False, True):
        of = asserted(text_of(Queue(SHAPE, depth=2), "queue", holds_inputs=holds))
        assert any(line.startswith(held) for line in of["queue"]) == holds


def simulated(folder, sources, ports, *, beside=""):
    """Build the block named ``dut`` in its bench, and run it with all assertions."""
    bench = traffic_bench("dut", map(vars, ports), cycles=5000, beside=beside)
    written(
        folder, {f"{cell}.v": cell_text(cell) for cell in CELLS} | sources | {"bench.sv": bench}
    )
    files = [folder / name for name in ("bench.sv", *sources)]
    options = ["--assert", "--coverage-user", "-DT3_ASSERT"]
    return verilated(folder, "bench", [*files, *cells(folder)], *options)


@pytest.fixture(scope="module")
def simulation(tmp_path_factory):
    """Messages of one build, of the chain alone and with a faulty block beside it."""
    folder = tmp_path_factory.mktemp("asserted")
    chain = Chain()
    sources = {
        "dut.sv": text_of(chain, "dut", holds_inputs=True),
        "impatient.sv": text_of(Impatient(), "impatient"),
    }
    right = simulated(folder, sources, documented_ports(chain), beside=WRONG)
    covered = (folder / "coverage.dat").read_text()
    wrong = run(folder / "obj" / "bench", "+impatient", cwd=folder)
    return right, covered, wrong


def test_random_traffic_keeps_what_is_asserted(simulation):
    right, _, _ = simulation
    kept(right, 1000)


@pytest.mark.verify
def test_random_traffic_in_a_channel(tmp_path):
    channel = BLOCKS["channel"].make(SMALL)
    sources = {"dut.sv": text_of(channel, "dut", holds_inputs=True)}
    kept(simulated(tmp_path, sources, documented_ports(channel)), 500)


def kept(done, moves):
    """No assertion failed, and enough payloads moved."""
    assert done.returncode == 0, f"{done.stdout}{done.stderr} (seed {SEED})"
    assert int(re.search(r"^MOVED (\d+)$", done.stdout, re.MULTILINE)[1]) > moves


def test_streams_are_covered(simulation):
    """Every stream of the chain stalls and moves."""
    _, covered, _ = simulation
    of_chain = "\n".join(line for line in covered.splitlines() if "dut.sv" in line)
    counts = re.findall(r"(cover_\w+).*' (\d+)$", of_chain, re.MULTILINE)
    assert {name for name, _ in counts} >= {"cover_i_2_stalled", "cover_o_stalled", "cover_o_moved"}
    assert [name for name, count in counts if count == "0"] == []


def test_a_valid_that_falls_is_found(simulation):
    _, _, wrong = simulation
    assert wrong.returncode != 0
    assert "assert_o_held" in wrong.stdout + wrong.stderr
