"""The driver's examples, on the compiled RTL and on the golden model."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from driver.c import c_driver
from rtl.export.register_documents import register_documents
from sysmodel.engine.golden.engine import GoldenEngine
from sysmodel.engine.native.engine import Engine
from sysmodel.engine.simulated_bus import SMALL as P
from sysmodel.engine.simulated_bus import SimulatedBus
from t3.driver import Context, Ring

EXAMPLE = Path(__file__).parents[2] / "examples" / "driver"
# Values of the examples.
RING = Ring(
    workgroups=6, leaving=2, staying=2, credit_window=4, command_window=8,
    generation=5,
)  # fmt: skip
BASE = 1 << 17


@pytest.fixture(params=[pytest.param(Engine, marks=pytest.mark.verify), GoldenEngine])
def bus(request):
    with request.param(P) as engine:
        bus = SimulatedBus(P, engine)
        while any(Context(bus, number).status["aborting"] for number in range(P.contexts)):
            pass  # the end of the reset
        yield bus


def check(bus, tiles):
    """All tracked tiles were complete, and all packets to the neighbour have left."""
    assert tiles == RING.workgroups - RING.leaving
    # Four atoms and a marker of each tile.
    assert len(bus.sent) == (RING.workgroups - RING.staying) * 5
    assert Context(bus).take_errors() == []


def test_python(bus, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE)
    monkeypatch.delitem(sys.modules, "reduce_scatter", raising=False)
    from reduce_scatter import reduce_scatter

    check(bus, reduce_scatter(bus, lambda: bus.play(RING, 0, 3, BASE)))


def c_library(tmp_path):
    """Compile the C example as its README does."""
    for name, content in (register_documents() | c_driver()).items():
        if name.endswith((".c", ".h")):
            (tmp_path / name).write_bytes(content)
    library, source = tmp_path / "example.so", EXAMPLE / "reduce_scatter.c"
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{tmp_path}"]
    subprocess.run(["cc", *flags, "-o", library, source, tmp_path / "t3.c"], check=True)
    return library


def test_c(bus, tmp_path):
    library = c_library(tmp_path)
    word = ctypes.c_uint32
    write = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, word, word)
    read = ctypes.CFUNCTYPE(word, ctypes.c_void_p, word)

    class Bus(ctypes.Structure):
        _fields_ = [("self", ctypes.c_void_p), ("write", write), ("read", read)]

    ours = Bus(
        None,
        write(lambda _, address, value: bus.write(address, value)),
        read(lambda _, address: bus.read(address)),
    )
    kernel = ctypes.CFUNCTYPE(None)(lambda: bus.play(RING, 0, 3, BASE))
    assert ctypes.CDLL(str(library)).reduce_scatter(ctypes.byref(ours), kernel) == 0
    check(bus, Context(bus).tiles)


@pytest.mark.parametrize("language", ["Python", "C"])
def test_runs_by_itself(language, tmp_path):
    """The program prints what the example did, in numbers that the hardware shows."""
    library = [c_library(tmp_path)] if language == "C" else []
    command = [sys.executable, "-m", "examples.driver.run", *library]
    root = EXAMPLE.parents[1]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root).stdout
    assert f"complete tiles: {RING.workgroups - RING.leaving}" in text
    assert f"sent packets: {(RING.workgroups - RING.staying) * 5}" in text
    assert "idle: 1" in text and "errors: 0" in text
    assert ("returned 0" if language == "C" else "returned 4 tiles") in text


@pytest.mark.parametrize("name", ["reduce_scatter.py", "reduce_scatter.c"])
def test_short(name):
    lines = (EXAMPLE / name).read_text().splitlines()
    assert len(lines) <= 35
