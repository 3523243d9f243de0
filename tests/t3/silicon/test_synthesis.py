"""Synthesis of small designs by Yosys: hand counts, black boxes, determinism."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from t3.silicon.area import area
from t3.silicon.elaboration import TOP, rtlil_text
from t3.silicon.library import load_library
from t3.silicon.netlist import read_netlist
from t3.silicon.sta import worst_paths
from t3.silicon.synthesis import synthesize
from tests.support.tiny_library import TINY, tiny


def _netlist(component, boxes=()):
    library = tiny()
    return read_netlist(synthesize(rtlil_text(component, boxes), TOP, library, [TINY]), library)


class Registers(wiring.Component):
    """Register of eight bits without a reset."""

    d: In(8)
    q: Out(8)

    def elaborate(self, platform):
        m = Module()
        stored = Signal(8, reset_less=True)
        m.d.sync += stored.eq(self.d)
        m.d.comb += self.q.eq(stored)
        return m


class Memories(wiring.Component):
    """Memories of 32 and of 8 rows of 6 bits, written and read."""

    address: In(5)
    data: In(6)
    large: Out(6)
    small: Out(6)

    def elaborate(self, platform):
        m = Module()
        for name, rows in (("large", 32), ("small", 8)):
            m.submodules[f"{name}_memory"] = memory = Memory(shape=6, depth=rows, init=[])
            write, read = memory.write_port(), memory.read_port()
            m.d.comb += [
                write.addr.eq(self.address),
                write.data.eq(self.data),
                write.en.eq(self.data[0]),
                read.addr.eq(self.address),
                read.en.eq(1),
                getattr(self, name).eq(read.data),
            ]
        return m


class Pair(wiring.Component):
    """Two registers in a row, with the second's output inverted."""

    d: In(8)
    q: Out(8)

    def elaborate(self, platform):
        m = Module()
        m.submodules.first = first = Registers()
        m.submodules.second = second = Registers()
        m.d.comb += [first.d.eq(self.d), second.d.eq(first.q), self.q.eq(~second.q)]
        return m


def test_flip_flops_are_counted():
    found = area(_netlist(Registers()), tiny())
    assert (found.flip_flops, found.macros, found.bits) == (8, 0, 0)
    assert found.flip_flop_ge == pytest.approx(8 * 12 / 3)
    assert found.cells_um2 == pytest.approx((found.flip_flop_ge + found.logic_ge) * 3)


class Enabled(wiring.Component):
    """Register of one bit with an enable."""

    d: In(1)
    en: In(1)
    q: Out(1)

    def elaborate(self, platform):
        m = Module()
        stored = Signal(reset_less=True)
        with m.If(self.en):
            m.d.sync += stored.eq(self.d)
        m.d.comb += self.q.eq(stored)
        return m


def test_an_enable_becomes_a_gate_even_if_the_library_has_a_flip_flop_with_enable(tmp_path):
    """Synthesis can buffer an enable of many bits if the enable is an input of gates."""
    text = TINY.read_text()
    plain = text[text.index("  cell (DFF) {") :]
    pin = "    pin (E) { direction : input; capacitance : 0.01; }\n"
    enabled = (
        plain.replace("(DFF)", "(DFFE)")
        .replace('next_state : "D"', 'next_state : "(D E) + (IQ !E)"')
        .replace("    pin (D) {", f"{pin}    pin (D) {{", 1)
    )
    path = tmp_path / "enabled.lib"
    path.write_text(text[: -len(plain)] + plain.rstrip().removesuffix("}") + enabled)
    library = load_library([path])
    assert library.cells["DFFE"].is_flip_flop
    cells = synthesize(rtlil_text(Enabled()), TOP, library, [path])["cells"]
    kinds = [cell["type"] for cell in cells.values()]
    assert kinds.count("DFF") == 1 and "DFFE" not in kinds and "NAND2" in kinds


def test_memories_are_macros_from_sixteen_rows_on():
    netlist = _netlist(Memories())
    (macro,) = netlist.macros
    assert (macro.rows, macro.width, macro.name) == (32, 6, "large_memory")
    found = area(netlist, tiny())
    assert (found.macros, found.bits) == (1, 32 * 6)
    assert found.flip_flops == 8 * 6 + 6  # the small memory's rows and its last read word
    starts = {path.start for path in worst_paths(netlist, tiny(), count=100)}
    assert "large_memory read data" in starts


def test_black_boxes_are_left_out():
    whole, glue = _netlist(Pair()), _netlist(Pair(), [Registers])
    assert area(whole, tiny()).flip_flops == 16
    assert area(glue, tiny()).flip_flops == 0
    assert sorted((box.name, box.kind) for box in glue.boxes) == [
        ("first", "Registers"),
        ("second", "Registers"),
    ]
    assert area(glue, tiny()).logic_ge == pytest.approx(8 * 2 / 3)  # eight inverters
    ends = {(path.start, path.end) for path in worst_paths(glue, tiny(), count=9)}
    assert ends == {("d", "first.d"), ("first.q", "second.d"), ("second.q", "q")}


def test_paths_have_the_names_of_the_design():
    paths = {path.kind: path for path in worst_paths(_netlist(Pair()), tiny())}
    assert (paths["in->reg"].start, paths["reg->out"].end) == ("d", "q")
    assert (paths["reg->reg"].start, paths["reg->reg"].end) == ("first.q", "second.q")


def test_the_same_netlist_without_the_cache(tmp_path, monkeypatch):
    library, texts = tiny(), []
    for name in ("one", "two"):
        monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path / name))
        texts.append(synthesize(rtlil_text(Memories()), TOP, library, [TINY]))
        assert len(list((tmp_path / name).rglob("*.json"))) == 1
    assert texts[0] == texts[1]
