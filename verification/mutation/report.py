"""The mutation scores as JSON and as a page."""

from collections.abc import Callable, Sequence
from typing import Any

from sysmodel.lib.markdown import table
from verification.failing_bench import FailingBench, as_section, parted

from .campaign import STAGES, Outcome
from .score import Score

__all__ = ["LEAST", "LEAST_OF_A_BLOCK", "as_dict", "as_markdown", "by_block", "holds"]

LEAST, LEAST_OF_A_BLOCK = 0.97, 0.95
"""The share of the mutants, not counting equivalent ones, that must be noticed."""


def by_block(outcomes: Sequence[Outcome]) -> dict[str, Score]:
    """The score of each block, of all its seeds together."""
    return _by(lambda outcome: outcome.block, outcomes)


def _by(key: Callable[[Outcome], str], outcomes: Sequence[Outcome]) -> dict[str, Score]:
    parts: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        parts.setdefault(key(outcome), []).append(outcome)
    return {name: Score.of(part) for name, part in parts.items()}


def holds(found: Sequence[Outcome | FailingBench]) -> bool:
    """Whether no bench fails by itself, and enough was noticed, in each block and in all."""
    outcomes, failing = parted(found)
    each = all(score.share >= LEAST_OF_A_BLOCK for score in by_block(outcomes).values())
    return not failing and each and Score.of(outcomes).share >= LEAST


def as_dict(found: Sequence[Outcome | FailingBench], seeds: Sequence[int]) -> dict[str, Any]:
    """Everything, for JSON."""
    outcomes, failing = parted(found)
    return {
        "seeds": list(seeds),
        "stages": [{"scale": scale, "added_to_seed": offset} for scale, offset in STAGES],
        "least_score": LEAST,
        "least_score_of_a_block": LEAST_OF_A_BLOCK,
        "all": Score.of(outcomes).record(),
        "blocks": {block: score.record() for block, score in by_block(outcomes).items()},
        "outcomes": [outcome.record() for outcome in outcomes],
        "failing_benches": [one.record() for one in failing],
    }


def as_markdown(found: Sequence[Outcome | FailingBench]) -> str:
    """The page's text and tables."""
    outcomes, failing = parted(found)
    whole = [["**all**", *Score.of(outcomes).cells()]]
    blocks = [[block, *score.cells()] for block, score in by_block(outcomes).items()]
    seeds = _by(lambda outcome: str(outcome.seed), outcomes).items()
    each_seed = [[f"seed {seed}", *score.cells()] for seed, score in seeds if len(seeds) > 1]
    scales = ", ".join(str(scale) for scale, _ in STAGES)
    reading = (
        "A mutant is the block's netlist with one bit of one cell's port inverted, stuck, or "
        "inverted while another bit of the port is 0 or 1; Yosys draws them evenly over the "
        "netlist. It is noticed if a test of the block's own cocotb bench fails; what is left is "
        f"played again with other random choices, at scales {scales}. The clock of a block "
        "stops while that is not awake. Equivalent ones are proved "
        "to take the same step as the block, from any state with some cycles before it; rows of a "
        "memory may be in another order. Score: "
        f"noticed of those that are not equivalent; required: {LEAST:.0%} of all, "
        f"{LEAST_OF_A_BLOCK:.0%} of each block. The seconds are of one of two that run side by "
        "side."
    )
    rows = table(["block:", *Score.HEADINGS], blocks + each_seed + whole)
    parts = [reading, rows, *as_section(failing), *_survivors(outcomes)]
    return "\n\n".join(parts)


def _survivors(outcomes: Sequence[Outcome]) -> list[str]:
    rows = [
        [
            outcome.block,
            str(outcome.seed),
            mutant.mode,
            f"`{mutant.place}`",
            ", ".join(mutant.sources),
        ]
        for outcome in outcomes
        for mutant in outcome.survivors
    ]
    if not rows:
        return []
    return ["## Survivors", table(["block:", "seed", "mode:", "where:", "source:"], rows)]
