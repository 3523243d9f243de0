"""Cocotb test that runs a bench on mutants, in the simulator's process.

Each test of the bench runs in a fork of the process, so that no mutant leaves anything behind or
takes the simulator down. The bench has run on the unchanged block in this process before, so that
no fork compiles anything.
"""

import importlib
import json
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocotb
from cocotb.simtime import get_sim_time
from cocotb.triggers import Timer

from tb.cycle import SCALE

from .netlist import SELECT

__all__ = ["PLAN"]

PLAN = "T3_MUTATION_PLAN"
"""Environment variable with the path of the plan that :mod:`.simulate` writes."""

# Limits of a mutant's run, as multiples of the unchanged block's cycles and processor time.
_LONGER_CYCLES, _LONGER_SECONDS = 3, 8
_LEAST_NS, _LEAST_SECONDS = 2000, 5
_DEADLOCK_S = 600  # limit of a deadlock, which takes no processor time
_HANG = "hang"
_MESSAGE_BYTES = 300


def _tests(module: str) -> Iterator[Any]:
    for value in vars(importlib.import_module(module)).values():
        if hasattr(value, "generate_tests"):
            yield from value.generate_tests()


def _end(pipe: int, **message: Any) -> None:
    """Send the result of a fork and end its process."""
    os.write(pipe, json.dumps(message).encode())
    os._exit(0)


async def _too_long(pipe: int, limit_ns: int) -> None:
    await Timer(limit_ns, "ns")
    _end(pipe, killed=_HANG)


async def _run_test(dut, test, number: int, limits: tuple[int, float] | None, pipe: int) -> None:
    """Run a test and end the process."""
    if limits:
        limit_ns, limit_s = limits
        # SIGPROF counts the time of this process alone, whatever else the machine does.
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_DEADLOCK_S)
        cocotb.start_soon(_too_long(pipe, limit_ns))
    getattr(dut, SELECT).value = number
    begin = get_sim_time("ns")
    try:
        await test.func(dut, *test.args, **test.kwargs)
    except BaseException as error:  # cocotb also cancels this test when another task fails
        text = " ".join(str(error).split()) or type(error).__name__
        _end(pipe, killed=text[:_MESSAGE_BYTES])
    _end(pipe, ns=get_sim_time("ns") - begin, seconds=sum(os.times()[:2]))


async def _forked(dut, test, number: int, limits: tuple[int, float] | None) -> dict[str, Any]:
    """Run a test in a fork; return its duration, or as ``killed`` the message of its failure."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        await _run_test(dut, test, number, limits, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        message = pipe.read()
    _, status = os.waitpid(child, 0)
    if message:
        return json.loads(message)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM):
        return {"killed": _HANG}
    return {"killed": "the simulator gave up"}


@cocotb.test(stage=1)  # after the bench's own tests
async def mutants(dut):
    """Run the tests of the bench on every mutant of the plan until one kills it."""
    plan = json.loads(Path(os.environ[PLAN]).read_text())
    tests = list(_tests(plan["bench"]))
    assert tests, f"{plan['bench']} has no test"
    os.environ[SCALE] = str(plan["scale"])
    cocotb.RANDOM_SEED = plan["seed"]
    random.seed(plan["seed"])
    limits = {}
    for test in tests:
        original = await _forked(dut, test, 0, None)
        assert "killed" not in original, f"{test.name} fails on the block as it is: {original}"
        limits[test.name] = (
            _LEAST_NS + _LONGER_CYCLES * round(original["ns"]),
            _LEAST_SECONDS + _LONGER_SECONDS * original["seconds"],
        )
    with Path(plan["results"]).open("w") as results:
        for number in plan["mutants"]:
            line = {"number": number, "test": None, "killed": None}
            for test in tests:
                result = await _forked(dut, test, number, limits[test.name])
                if "killed" in result:
                    line |= {"test": test.name, "killed": result["killed"]}
                    # Neighbouring mutants often fail the same test.
                    tests.remove(test)
                    tests.insert(0, test)
                    break
            results.write(json.dumps(line) + "\n")
            results.flush()
