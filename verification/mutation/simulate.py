"""Builds a netlist with mutants, and plays a bench against them."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tb.runner import build_bench, run_tests

from . import harness

__all__ = ["PLAYED", "Death", "build", "play"]

PLAYED = "played.jsonl"
# Mutants break what the netlist's case statements promise, and only then is there an assertion.
_ARGUMENTS = ("--no-assert", "-Wno-UNOPTFLAT", "-Wno-fatal")


@dataclass(frozen=True)
class Death:
    """How a mutant was noticed: by which test of the bench, and what it said."""

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


def play(
    bench: str, name: str, numbers: Sequence[int], *, scale: int, seed: int, folder: Path
) -> dict[int, Death]:
    """Play a bench against mutants of what :func:`build` made; gives those that were noticed.

    Parameters
    ----------
    bench : str
        Module of the cocotb tests.
    name : str
        Of the netlist's module.
    numbers : sequence of int
        The mutants.
    scale, seed : int
        Of the bench.
    folder : Path

    Raises
    ------
    AssertionError
        If the bench fails on the block as it is.
    """
    plan, results = folder / "plan.json", folder / PLAYED
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
    outcomes = [json.loads(line) for line in results.read_text().splitlines()]
    assert [outcome["number"] for outcome in outcomes] == list(numbers)
    return {
        outcome["number"]: Death(outcome["test"], outcome["killed"])
        for outcome in outcomes
        if outcome["killed"] is not None
    }
