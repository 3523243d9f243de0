"""The mutation scores as JSON and as a page."""

from collections.abc import Sequence
from typing import Any

from sysmodel.lib.markdown import table
from t3.verification.failing_bench import FailingBench, as_section, parted

from .campaign import STAGES, Outcome

__all__ = ["LEAST", "LEAST_OF_A_BLOCK", "as_dict", "as_markdown", "holds", "overall"]

LEAST, LEAST_OF_A_BLOCK = 0.97, 0.95
"""The share of the mutants, not counting equivalent ones, that must be noticed."""


def overall(outcomes: Sequence[Outcome]) -> float:
    """Score of all blocks together."""
    different = sum(outcome.different for outcome in outcomes)
    return sum(len(outcome.deaths) for outcome in outcomes) / different if different else 1.0


def holds(found: Sequence[Outcome | FailingBench]) -> bool:
    """Whether no bench fails by itself, and enough was noticed, in each block and in all."""
    outcomes, failing = parted(found)
    each = all(outcome.score >= LEAST_OF_A_BLOCK for outcome in outcomes)
    return not failing and each and overall(outcomes) >= LEAST


def as_dict(found: Sequence[Outcome | FailingBench], seed: int) -> dict[str, Any]:
    """Everything, for JSON."""
    outcomes, failing = parted(found)
    return {
        "seed": seed,
        "stages": [{"scale": scale, "seed": seed + offset} for scale, offset in STAGES],
        "least_score": LEAST,
        "least_score_of_a_block": LEAST_OF_A_BLOCK,
        "mutants": sum(len(outcome.mutants) for outcome in outcomes),
        "score": round(overall(outcomes), 4),
        "blocks": [outcome.record() for outcome in outcomes],
        "failing_benches": [one.record() for one in failing],
    }


def as_markdown(found: Sequence[Outcome | FailingBench]) -> str:
    """The page's text and tables."""
    outcomes, failing = parted(found)
    kinds = ("mutants", "deaths", "survivors", "equivalent")
    counts = [[len(getattr(outcome, kind)) for kind in kinds] for outcome in outcomes]
    rows = [
        [outcome.block, *map(str, count), f"{outcome.score:.1%}", f"{outcome.seconds:.0f}"]
        for outcome, count in zip(outcomes, counts, strict=True)
    ]
    sums = [str(sum(count[index] for count in counts)) for index in range(len(kinds))]
    seconds = sum(outcome.seconds for outcome in outcomes)
    rows.append(["**all**", *sums, f"{overall(outcomes):.1%}", f"{seconds:.0f}"])
    scales = ", ".join(str(scale) for scale, _ in STAGES)
    reading = (
        "A mutant is the block's netlist with one bit of one cell's port inverted, stuck, or "
        "inverted while another bit of the port is 0 or 1; Yosys draws them evenly over the "
        "netlist. It is noticed if a test of the block's own cocotb bench fails; what is left is "
        f"played again with other random choices, at scales {scales}. Equivalent ones are proved "
        "to take the same step as the block, from any state with some cycles before it. Score: "
        f"noticed of those that are not equivalent; required: {LEAST:.0%} of all, "
        f"{LEAST_OF_A_BLOCK:.0%} of each block. The seconds are of one of two that run side by "
        "side."
    )
    headings = ["block:", "mutants", "noticed", "survived", "equivalent", "score", "s"]
    parts = [reading, table(headings, rows), *as_section(failing), *_survivors(outcomes)]
    return "\n\n".join(parts)


def _survivors(outcomes: Sequence[Outcome]) -> list[str]:
    rows = [
        [outcome.block, mutant.mode, f"`{mutant.place}`", ", ".join(mutant.sources)]
        for outcome in outcomes
        for mutant in outcome.survivors
    ]
    if not rows:
        return []
    return ["## Survivors", table(["block:", "mode:", "where:", "source:"], rows)]
