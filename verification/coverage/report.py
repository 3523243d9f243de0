"""Coverage as JSON and as a page."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sysmodel.lib.markdown import table
from verification.failing_bench import FailingBench, as_section, parted

from .measure import SCALE, Measured
from .reasons import reason_of, without_a_hole

__all__ = ["as_dict", "as_markdown", "unexplained"]

_MISSING = "not explained"


def _holes(measured: Measured) -> list[dict[str, Any]]:
    functional = [("functional", name, 1) for name in measured.functional_holes()]
    return [
        {
            "kind": kind,
            "where": where,
            "points": count,
            "reason": reason_of(measured.block, f"{kind} {where}"),
        }
        for kind, where, count in (*functional, *measured.holes())
    ]


def _needless(measured: Measured) -> list[str]:
    return without_a_hole(
        measured.block, (f"{kind} {where}" for kind, where, _ in measured.holes())
    )


def unexplained(results: Sequence[Measured]) -> int:
    """Points that are not hit, and for which there is no reason."""
    holes = (hole for measured in results for hole in _holes(measured))
    return sum(hole["points"] for hole in holes if hole["reason"] is None)


def as_dict(found: Sequence[Measured | FailingBench], seed: int) -> dict[str, Any]:
    """Everything, for JSON."""
    results, failing = parted(found)
    return {
        "failing_benches": [one.record() for one in failing],
        "seed": seed,
        "scale": SCALE,
        "unexplained": unexplained(results),
        "blocks": [
            {
                "block": measured.block,
                **{
                    kind: {"hit": hit, "points": points}
                    for kind, (hit, points) in measured.shares().items()
                },
                "hits": measured.functional,
                "holes": _holes(measured),
                "reasons_without_a_hole": _needless(measured),
            }
            for measured in results
        ],
    }


def as_markdown(found: Sequence[Measured | FailingBench]) -> str:
    """The page's text and tables."""
    results, failing = parted(found)
    rows = [
        [
            measured.block,
            *(f"{hit} of {points}" for hit, points in measured.shares().values()),
            str(sum(hole["points"] for hole in _holes(measured) if hole["reason"] is None)),
        ]
        for measured in results
    ]
    reading = (
        f"Each block's cocotb bench ran once on its Verilog, at scale {SCALE}. Lines and "
        "branches, and both changes of every bit, are Verilator's; functional points are the "
        "hazards that the bench itself looks for."
    )
    headings = ["block:", "lines and branches", "toggles", "functional", _MISSING]
    parts = [reading, table(headings, rows), *as_section(failing)]
    parts += [*_explained(results), *_unexplained(results), *_without_a_hole(results)]
    points = [
        [measured.block, name, str(count)]
        for measured in results
        for name, count in measured.functional.items()
    ]
    parts += ["## Functional points", table(["block:", "point:", "hits"], points)]
    return "\n\n".join(parts)


def _explained(results: Sequence[Measured]) -> list[str]:
    places, points = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    for measured in results:
        for hole in _holes(measured):
            if hole["reason"]:
                key = measured.block, hole["kind"], hole["reason"]
                places[key] += 1
                points[key] += hole["points"]
    rows = [
        [block, kind, str(places[block, kind, why]), str(count), why]
        for (block, kind, why), count in points.items()
    ]
    reading = (
        "Points that are not hit: on how many lines or signals, and why. Where a block is a part "
        "of another one, both count it. The command writes a JSON file that names each."
    )
    headings = ["block:", "kind:", "places", "points", "why:"]
    return ["## Holes", reading, table(headings, rows)] if rows else []


def _unexplained(results: Sequence[Measured]) -> list[str]:
    rows = [
        [measured.block, hole["kind"], f"`{hole['where']}`", str(hole["points"])]
        for measured in results
        for hole in _holes(measured)
        if hole["reason"] is None
    ]
    headings = ["block:", "kind:", "where:", "points"]
    return ["## Not explained", table(headings, rows)] if rows else []


def _without_a_hole(results: Sequence[Measured]) -> list[str]:
    rows = [
        [measured.block, f"`{pattern}`"] for measured in results for pattern in _needless(measured)
    ]
    return ["## Reasons without a hole", table(["block:", "pattern:"], rows)] if rows else []
