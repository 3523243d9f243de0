"""Simulation of mutants: builds a netlist with mutants and runs a bench on each of them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tb.runner import build_bench, run_tests

from . import harness

__all__ = ["RESULTS", "Death", "build", "simulate"]

RESULTS = "results.jsonl"
"""File with a line for each mutant that :func:`simulate` has finished."""

# Mutants violate the case statements that the netlist asserts to be complete.
_ARGUMENTS = ("--no-assert", "-Wno-UNOPTFLAT", "-Wno-fatal")


@dataclass(frozen=True)
class Death:
    """Cause of a mutant's death.

    Attributes
    ----------
    test : str
        Name of the bench's test that failed.
    message : str
        Message of the failure.
    """

    test: str
    message: str


def build(verilog: str, name: str, folder: Path) -> None:
    """Compile the netlist into the folder."""
    build_bench(
        verilog,
        name=name,
        directory=folder,
        build_arguments=_ARGUMENTS,
        log=folder / "build.log",
    )


def simulate(
    bench: str, name: str, numbers: Sequence[int], *, scale: int, seed: int, folder: Path
) -> dict[int, Death]:
    """Run a bench on mutants of the netlist from :func:`build`; return the mutants that it kills.

    Parameters
    ----------
    bench : str
        Module of the cocotb tests.
    name : str
        Name of the netlist's module.
    numbers : sequence of int
        Numbers of the mutants.
    scale, seed : int
        Scale and seed of the bench.

    Raises
    ------
    AssertionError
        The bench fails on the unchanged block.
    """
    plan, results = folder / "plan.json", folder / RESULTS
    contents = {"bench": bench, "mutants": list(numbers), "scale": scale, "seed": seed}
    plan.write_text(json.dumps(contents | {"results": str(results)}))
    run_tests(
        name=name,
        test_module=(bench, harness.__name__),
        directory=folder,
        seed=seed,
        environment={harness.PLAN: str(plan)},
        log=folder / "run.log",
    )
    lines = [json.loads(line) for line in results.read_text().splitlines()]
    assert [line["number"] for line in lines] == list(numbers)
    return {
        line["number"]: Death(line["test"], line["killed"])
        for line in lines
        if line["killed"] is not None
    }
