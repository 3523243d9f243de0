"""Command ``t3 exhaust``."""

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from rtl.interface.encodings import Datatype, Operation
from t3.report.progress import shown_progress
from verification.arithmetic.report import as_markdown
from verification.arithmetic.run import ComparisonResult, run
from verification.arithmetic.unit import PARAMETERS, build_unit
from verification.evidence import Evidence

from .options import Out, integer_option, named, option

__all__ = ["NAME", "exhaust"]

NAME = "arithmetic"
"""Name of the files without their extension."""

_DATATYPES = {datatype.name.lower(): datatype for datatype in Datatype}
_OPERATIONS = {operation.name.lower(): operation for operation in Operation}


def exhaust(
    out: Out = Path("build/exhaust"),
    pairs: Annotated[int, integer_option("Number of fp32 pairs for each operation.", least=1)] = 10
    ** 9,
    dtype: Annotated[
        str | None, option("Only this number format.", "|".join(_DATATYPES), show_default="all")
    ] = None,
    operation: Annotated[
        str | None, option("Only this operation.", "|".join(_OPERATIONS), show_default="all")
    ] = None,
    seed: Annotated[int, integer_option("Seed for the fp32 pairs.", least=0)] = 0,
) -> None:
    """Compare the reduce unit's arithmetic with NumPy's, every bit.

    Runs the compiled RTL on all 2^32 pairs of fp16 and of bf16, and on structured-random pairs of
    fp32, for sum, maximum and minimum. Takes about half an hour on two idle processors; writes
    arithmetic.json, arithmetic.md and a summary. The exit code is 0 only if all results agree.
    """
    datatypes = named("dtype", dtype and [dtype], _DATATYPES)
    operations = named("operation", operation and [operation], _OPERATIONS)
    outcomes = []
    with Evidence(out, NAME, title="Exhaustive arithmetic", command="t3 exhaust") as evidence:
        typer.echo(f"seed {seed}")
        with shown_progress() as progress:
            library = build_unit(progress)
        for datatype, op in product(datatypes, operations):
            arguments = library, _OPERATIONS[op], _DATATYPES[datatype]
            with shown_progress() as progress:
                outcome = run(*arguments, pairs=pairs, seed=seed, progress=progress)
            outcomes.append(outcome)
            typer.echo(_line(outcome))
        runs = [_entry(outcome) for outcome in outcomes]
        settings = {"atom_bytes": PARAMETERS.atom_bytes, "seed": seed}
        page = as_markdown(runs, seed)
        evidence.publish(settings | {"runs": runs}, page, page)
    if any(outcome.comparison.mismatches for outcome in outcomes):
        raise typer.Exit(1)


def _entry(outcome: ComparisonResult) -> dict[str, Any]:
    """Convert the outcome to JSON; bit patterns are hexadecimal."""
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


def _line(outcome: ComparisonResult) -> str:
    """Write the outcome as text, with a line for each of the first mismatches."""
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
