import shutil
from importlib import import_module

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from rtl.lib import queue
from rtl.lib.queue import Queue
from verification.mutation.netlist import SELECT, mutate


class Rows(wiring.Component):
    """A memory that is read in the same cycle."""

    i: In(1)
    o: Out(1)
    row: In(1)

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=1, depth=2, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [
            write.addr.eq(self.row),
            read.addr.eq(self.row),
            write.en.eq(1),
            write.data.eq(self.i),
            self.o.eq(read.data),
        ]
        return m


def drawn(folder, seed, count=20):
    folder.mkdir()
    return mutate(Queue(5, depth=4), "queue", count=count, seed=seed, folder=folder)


def test_the_seed_decides(tmp_path):
    first, verilog = drawn(tmp_path / "a", 1)
    again, same = drawn(tmp_path / "b", 1)
    other, _ = drawn(tmp_path / "c", 2)
    assert first == again and verilog == same
    assert [m.command for m in first] != [m.command for m in other]


def test_mutants_are_numbered_and_have_a_place(tmp_path):
    mutants, verilog = drawn(tmp_path / "a", 4, count=60)
    assert [m.number for m in mutants] == [*range(1, 61)]
    assert len({m.command for m in mutants}) == 60
    assert f"input [5:0] {SELECT};" in verilog
    files = {source.partition(":")[0] for m in mutants for source in m.sources}
    assert files >= {"rtl/lib/queue.py"}
    assert all(m.cell in m.command and m.place.startswith(m.cell) for m in mutants)


def test_the_sources_may_lie_in_a_folder_with_a_blank(tmp_path, monkeypatch):
    folder = tmp_path / "a folder"
    folder.mkdir()
    shutil.copy(queue.__file__, folder / "copied_queue.py")
    monkeypatch.syspath_prepend(folder)
    copied = import_module("copied_queue").Queue(5, depth=4)
    mutants, _ = mutate(copied, "queue", count=20, seed=1, folder=tmp_path)
    assert len(mutants) == 20
    assert not any(source.startswith(str(tmp_path)) for m in mutants for source in m.sources)


def test_a_read_without_a_clock_has_no_mutant_of_one(tmp_path):
    mutants, _ = mutate(Rows(), "rows", count=60, seed=6, folder=tmp_path)
    ports = {m.port for m in mutants if m.cell == "memory"}
    assert {"RD_ADDR", "WR_CLK"} <= ports and not {"RD_CLK", "RD_EN", "RD_ARST"} & ports


@pytest.mark.parametrize("name", ["level", "storage"])
def test_state_keeps_its_name(tmp_path, name):
    """Benches reach for it, whatever is mutated."""
    _, verilog = drawn(tmp_path / "a", 5, count=100)
    assert any(
        line.split()[-2:] and line.startswith("  reg") and name in line
        for line in verilog.splitlines()
    )
