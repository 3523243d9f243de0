"""``t3 exhaust``."""

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from sysmodel.lib.errors import InputError
from sysmodel.lib.progress import shown_progress

from .checkout import require_checkout
from .options import Out, option

if TYPE_CHECKING:
    from verification.arithmetic.run import Outcome

__all__ = ["NAME", "exhaust"]

NAME = "arithmetic"  # of the files

_E = TypeVar("_E", bound=Enum)


def exhaust(
    out: Out = Path("build/exhaust"),
    pairs: Annotated[int, option("Pairs of fp32 for each operation.", "N", min=1)] = 10**9,
    dtype: Annotated[
        str | None, option("Only this format.", "fp16|bf16|fp32", show_default="all")
    ] = None,
    operation: Annotated[
        str | None, option("Only this operation.", "sum|max|min", show_default="all")
    ] = None,
    seed: Annotated[int, option("Seed of the fp32 pairs.", "N", min=0)] = 0,
) -> None:
    """Compare the reduce unit's arithmetic with NumPy's, every bit.

    Runs the compiled RTL on all 2^32 pairs of fp16 and of bf16, and on structured-random pairs of
    fp32, for sum, maximum and minimum. About half an hour on two idle processors; writes
    arithmetic.json and arithmetic.md. The exit code is 0 only if all agree.
    """
    require_checkout("exhaust")
    # They bring Amaranth and Numba, for which other commands shall not wait.
    from rtl.interface.encodings import Datatype, Operation
    from verification.arithmetic.report import as_markdown
    from verification.arithmetic.run import run
    from verification.arithmetic.unit import PARAMETERS, build_unit
    from verification.evidence import Evidence

    datatypes = _chosen("dtype", dtype, Datatype)
    operations = _chosen("operation", operation, Operation)
    outcomes = []
    with Evidence(out, NAME, title="Exhaustive arithmetic", command="t3 exhaust") as evidence:
        typer.echo(f"seed {seed}")
        with shown_progress() as progress:
            library = build_unit(progress)
        for datatype in datatypes:
            for op in operations:
                with shown_progress() as progress:
                    outcome = run(library, op, datatype, pairs=pairs, seed=seed, progress=progress)
                outcomes.append(outcome)
                typer.echo(_line(outcome))
        runs = [_entry(outcome) for outcome in outcomes]
        settings = {"atom_bytes": PARAMETERS.atom_bytes, "seed": seed}
        evidence.publish(settings | {"runs": runs}, as_markdown(runs, seed))
    if any(outcome.comparison.mismatches for outcome in outcomes):
        raise typer.Exit(1)


def _chosen(field: str, name: str | None, kind: type[_E]) -> list[_E]:
    if name is None:
        return list(kind)
    members = {member.name.lower(): member for member in kind}
    if name not in members:
        problem = f"{name[:20]!r} is not allowed; allowed: {', '.join(members)}"
        raise InputError(field, problem)
    return [members[name]]


def _entry(outcome: "Outcome") -> dict[str, Any]:
    """The outcome as JSON; bit patterns in hexadecimal."""
    comparison = outcome.comparison
    keys = ("stored", "operand", "expected", "found")
    return {
        "dtype": outcome.datatype.name.lower(),
        "operation": outcome.operation.name.lower(),
        "pairs": comparison.pairs,
        "mismatches": comparison.mismatches,
        "seconds": round(outcome.seconds, 1),
        "processor_seconds": round(outcome.processor_seconds, 1),
        "first_mismatches": [
            {key: hex(bits) for key, bits in zip(keys, one, strict=True)}
            for one in comparison.first
        ],
    }


def _line(outcome: "Outcome") -> str:
    """The outcome as text; a line for each of the first mismatches."""
    entry = _entry(outcome)
    text = (
        f"{entry['dtype']} {entry['operation']}: {entry['pairs']:,} pairs, "
        f"{entry['mismatches']:,} mismatches, {entry['seconds']} s"
    )
    lines = [
        f"  {one['stored']}, {one['operand']}: expected {one['expected']}, found {one['found']}"
        for one in entry["first_mismatches"]
    ]
    return "\n".join([text, *lines])
