"""The cocotb test that plays a bench against mutants, in the simulator's process.

Each test of the bench runs in a fork of the process: no mutant can leave anything behind, and none
can take the simulator with it. The bench has run on the block as it is before, in this process, so
that nothing is compiled in every fork anew.
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
"""Variable with the name of the file that :mod:`.simulate` writes."""

# As many times as long as the block as it is may a mutant take, in cycles and in processor time.
_LONGER_CYCLES, _LONGER_SECONDS = 3, 8
_LEAST_NS, _LEAST_SECONDS = 2000, 5
_DEADLOCK_S = 600  # of waiting for nothing, which takes no processor time
_HANG = "hang"
_MESSAGE_BYTES = 300


def _tests(module: str) -> Iterator[Any]:
    for value in vars(importlib.import_module(module)).values():
        if hasattr(value, "generate_tests"):
            yield from value.generate_tests()


def _say(pipe: int, **message: Any) -> None:
    """The last words of a fork."""
    os.write(pipe, json.dumps(message).encode())
    os._exit(0)


async def _too_long(pipe: int, limit_ns: int) -> None:
    await Timer(limit_ns, "ns")
    _say(pipe, killed=_HANG)


async def _play(dut, test, number: int, limits: tuple[int, float] | None, pipe: int) -> None:
    """Run a test, and end the process."""
    if limits:
        limit_ns, limit_s = limits
        # Of this process's own time, so that other processes do not matter.
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, limit_s)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(_DEADLOCK_S)
        cocotb.start_soon(_too_long(pipe, limit_ns))
    getattr(dut, SELECT).value = number
    begin = get_sim_time("ns")
    try:
        await test.func(dut, *test.args, **test.kwargs)
    except BaseException as error:  # also what stops this test because a task beside it failed
        text = " ".join(str(error).split()) or type(error).__name__
        _say(pipe, killed=text[:_MESSAGE_BYTES])
    _say(pipe, ns=get_sim_time("ns") - begin, seconds=sum(os.times()[:2]))


async def _forked(dut, test, number: int, limits: tuple[int, float] | None) -> dict[str, Any]:
    """Run a test in a fork; gives how long it took, or what ``killed`` the mutant."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        await _play(dut, test, number, limits, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        message = pipe.read()
    _, status = os.waitpid(child, 0)
    if message:
        return json.loads(message)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM):
        return {"killed": _HANG}
    return {"killed": "the simulator gave up"}


@cocotb.test(stage=1)  # after the bench's own
async def mutants(dut):
    """Every mutant of the plan, by every test of the bench until one notices it."""
    plan = json.loads(Path(os.environ[PLAN]).read_text())
    tests = list(_tests(plan["bench"]))
    assert tests, f"{plan['bench']} has no test"
    os.environ[SCALE] = str(plan["scale"])
    cocotb.RANDOM_SEED = plan["seed"]
    random.seed(plan["seed"])
    limits = {}
    for test in tests:
        whole = await _forked(dut, test, 0, None)
        assert "killed" not in whole, f"{test.name} fails on the block as it is: {whole}"
        limits[test.name] = (
            _LEAST_NS + _LONGER_CYCLES * round(whole["ns"]),
            _LEAST_SECONDS + _LONGER_SECONDS * whole["seconds"],
        )
    with Path(plan["results"]).open("w") as results:
        for number in plan["mutants"]:
            outcome = {"number": number, "test": None, "killed": None}
            for test in tests:
                found = await _forked(dut, test, number, limits[test.name])
                if "killed" in found:
                    outcome |= {"test": test.name, "killed": found["killed"]}
                    break
            results.write(json.dumps(outcome) + "\n")
            results.flush()
