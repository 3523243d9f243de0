"""Mutation scores as JSON, as the full page, and as its summary."""

from collections.abc import Callable, Sequence
from typing import Any

from t3.report.markdown import table
from verification.failing_bench import FailingBench, as_section, parted

from .campaign import STAGES, CampaignResult
from .score import Score

__all__ = ["LEAST", "LEAST_OF_A_BLOCK", "as_dict", "as_markdown", "as_summary", "by_block", "holds"]

LEAST, LEAST_OF_A_BLOCK = 0.97, 0.95
"""Share of the mutants, not counting equivalent ones, that must be detected."""

READING = (
    "A mutant is the block's netlist with one bit of one cell's port inverted, stuck, or inverted "
    "while another bit of the port is 0 or 1. Yosys draws mutants evenly over the netlist. A "
    "mutant is killed if a test of the block's own cocotb bench fails. Survivors are simulated "
    f"again with other random choices, at scales {', '.join(str(scale) for scale, _ in STAGES)}. "
    "The clock of a block stops while its clock enable is low. An equivalent mutant is proved to "
    "take the same step as the block, from any state with some cycles before it; the rows of a "
    "memory may be in another order. The score is the share of killed mutants among those that "
    f"are not equivalent; {LEAST:.0%} of all and {LEAST_OF_A_BLOCK:.0%} of each block are "
    "required. Seconds are those of one of two processes. `t3 mutate` also writes the full page, "
    "`mutation.md`, with every survivor and its place in the source."
)
"""How to read the table; first paragraph of both pages."""


def by_block(outcomes: Sequence[CampaignResult]) -> dict[str, Score]:
    """Score of each block over all seeds."""
    return _by(lambda outcome: outcome.block, outcomes)


def _by(
    key: Callable[[CampaignResult], str], outcomes: Sequence[CampaignResult]
) -> dict[str, Score]:
    parts: dict[str, list[CampaignResult]] = {}
    for outcome in outcomes:
        parts.setdefault(key(outcome), []).append(outcome)
    return {name: Score.of(part) for name, part in parts.items()}


def holds(found: Sequence[CampaignResult | FailingBench]) -> bool:
    """Return True if no bench fails by itself and the scores of all blocks suffice."""
    outcomes, failing = parted(found)
    each = all(score.share >= LEAST_OF_A_BLOCK for score in by_block(outcomes).values())
    return not failing and each and Score.of(outcomes).share >= LEAST


def as_dict(found: Sequence[CampaignResult | FailingBench], seeds: Sequence[int]) -> dict[str, Any]:
    """Collect all results for JSON."""
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


def as_markdown(found: Sequence[CampaignResult | FailingBench]) -> str:
    """Write the full page: the summary, and every survivor with its place in the source."""
    return "\n\n".join([as_summary(found), *_survivors(parted(found)[0])])


def as_summary(found: Sequence[CampaignResult | FailingBench]) -> str:
    """Summarize the scores: each block, each seed and all together."""
    outcomes, failing = parted(found)
    whole = [["**all**", *Score.of(outcomes).cells()]]
    blocks = [[block, *score.cells()] for block, score in by_block(outcomes).items()]
    seeds = _by(lambda outcome: str(outcome.seed), outcomes).items()
    each_seed = [[f"seed {seed}", *score.cells()] for seed, score in seeds if len(seeds) > 1]
    rows = table(["block:", *Score.HEADINGS], blocks + each_seed + whole)
    return "\n\n".join([READING, rows.strip(), *as_section(failing)])


def _survivors(outcomes: Sequence[CampaignResult]) -> list[str]:
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
