"""Cell libraries: reference cells, FO4, units, and refused files."""

import gzip
import os
import stat

import pytest

from sysmodel.lib.errors import InputError
from t3.silicon import osu018 as default
from t3.silicon.library import load_library
from tests.support.tiny_library import FO4_NS, FO4_SLEW_NS, INV_PF, TINY, tiny


def test_reference_cells_are_found_by_function():
    library = tiny()
    assert (library.inverter, library.nand2, library.flip_flop) == ("INV", "NAND2", "DFF")
    assert library.gate_um2 == 3
    assert library.inverter_capacitance_pf == pytest.approx(INV_PF)


def test_fo4():
    library = tiny()
    assert library.fo4_ns == pytest.approx(FO4_NS)
    assert library.fo4_slew_ns == pytest.approx(FO4_SLEW_NS)


def test_smallest_cell_wins_and_unusable_ones_do_not_count(tmp_path):
    text = TINY.read_text()
    start = text.index("  cell (INV)")
    inverter = text[start : text.index("  cell (BUF)")]
    small = inverter.replace("INV", "SMALL").replace("area : 2", "area : 1")
    unused = inverter.replace("INV", "UNUSED").replace("area : 2", "dont_use : true; area : 0.5")
    file = tmp_path / "more.lib"
    file.write_text(text[:start] + inverter + small + unused + text[start + len(inverter) :])
    assert load_library([file]).inverter == "SMALL"


def test_units(tmp_path):
    """Picoseconds and femtofarads give the same library."""
    file = tmp_path / "ps.lib"
    text = TINY.read_text().replace('"1ns"', '"1ps"').replace("(1, pf)", "(1, ff)")
    file.write_text(text)
    library = load_library([file])
    assert library.fo4_ns == pytest.approx(FO4_NS * 1e-3)
    assert library.inverter_capacitance_pf == pytest.approx(INV_PF * 1e-3)


def test_compressed_and_in_parts(tmp_path):
    text = TINY.read_text()
    head, flip_flop = text[: text.index("  cell (INV)")], text[text.index("  cell (DFF)") :]
    gates = text[: text.index("  cell (DFF)")] + "}"
    (tmp_path / "gates.lib.gz").write_bytes(gzip.compress(gates.encode()))
    (tmp_path / "flops.lib").write_text(head + flip_flop)
    library = load_library([tmp_path / "gates.lib.gz", tmp_path / "flops.lib"])
    assert library.fo4_ns == pytest.approx(FO4_NS)
    assert set(library.cells) == {"INV", "BUF", "NAND2", "DFF"}


@pytest.mark.parametrize(
    "cell, problem",
    [("INV", "inverter"), ("BUF", "buffer"), ("NAND2", "NAND2"), ("DFF", "D flip-flop")],
)
def test_a_library_without_a_needed_cell_is_refused(cell, problem, tmp_path):
    file = tmp_path / "less.lib"
    marker = f"cell ({cell}) {{"
    assert marker in TINY.read_text()
    file.write_text(TINY.read_text().replace(marker, f"{marker} dont_use : true;"))
    with pytest.raises(InputError, match=f"liberty: the library has no {problem}"):
        load_library([file])


def test_refuses_files_that_are_no_library(tmp_path):
    with pytest.raises(InputError, match="liberty: .*missing.lib.* cannot be read"):
        load_library([tmp_path / "missing.lib"])
    (tmp_path / "text.lib").write_text("module top; endmodule")
    with pytest.raises(InputError, match="liberty: .*text.lib.* cannot be used"):
        load_library([tmp_path / "text.lib"])
    (tmp_path / "cut.lib.gz").write_bytes(gzip.compress(TINY.read_bytes())[:200])
    with pytest.raises(InputError, match="not a complete gzip"):
        load_library([tmp_path / "cut.lib.gz"])


def _program(folder, name, script):
    file = folder / name
    file.write_text(f"#!{os.environ.get('SHELL', '/bin/sh')}\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def test_default_library_without_apt(tmp_path, monkeypatch):
    monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        InputError, match="apt-get is not installed; give a library: --liberty FILE"
    ):
        default.osu018()


def test_default_library_when_apt_fails(tmp_path, monkeypatch):
    monkeypatch.setenv("T3_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    _program(tmp_path, "apt-get", "echo 'E: no such package' >&2; exit 100")
    _program(tmp_path, "dpkg-deb", "exit 0")
    with pytest.raises(InputError, match="apt-get says: E: no such package"):
        default.osu018()
    assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").rglob("*.lib"))
