"""Coverage as JSON, as the full page, and as its summary."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from t3.report.document import MISSING
from t3.report.markdown import table
from verification.failing_bench import FailingBench, as_section, parted

from .measure import SCALE, BlockCoverage
from .waivers import reason_of, unused_waivers

__all__ = ["as_dict", "as_markdown", "as_summary", "unexplained"]

_MISSING = "not waived"
_SHOWN = 10  # rows of a table in the summary


def _holes(measured: BlockCoverage) -> list[dict[str, Any]]:
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


def _unused_waivers(measured: BlockCoverage) -> list[str]:
    return unused_waivers(
        measured.block, (f"{kind} {where}" for kind, where, _ in measured.holes())
    )


def unexplained(results: Sequence[BlockCoverage]) -> int:
    """Count the points that are neither hit nor waived."""
    holes = (hole for measured in results for hole in _holes(measured))
    return sum(hole["points"] for hole in holes if hole["reason"] is None)


def as_dict(found: Sequence[BlockCoverage | FailingBench], seed: int) -> dict[str, Any]:
    """Collect all results for JSON."""
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
                "reasons_without_a_hole": _unused_waivers(measured),
            }
            for measured in results
        ],
    }


def as_markdown(found: Sequence[BlockCoverage | FailingBench]) -> str:
    """Format the text and the tables of the page."""
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
        f"Each block's cocotb bench ran once on the block's Verilog, at scale {SCALE}. Verilator "
        "counts lines, branches and both directions of every bit's toggle; functional points are "
        "the hazards that the bench itself looks for."
    )
    headings = ["block:", "lines and branches", "toggles", "functional", _MISSING]
    parts = [reading, table(headings, rows), *as_section(failing)]
    parts += [*_waived(results), *_not_waived(results), *_without_hole(results)]
    points = [
        [measured.block, name, str(count)]
        for measured in results
        for name, count in measured.functional.items()
    ]
    parts += ["## Functional points", table(["block:", "point:", "hits"], points)]
    return "\n\n".join(parts)


def _waived(results: Sequence[BlockCoverage]) -> list[str]:
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
        "Waived points, with the number of lines or signals that they lie on. A block that is part "
        "of another one counts in both. The command's JSON file names every point."
    )
    headings = ["block:", "kind:", "places", "points", "why:"]
    return ["## Holes", reading, table(headings, rows)] if rows else []


def _not_waived(results: Sequence[BlockCoverage]) -> list[str]:
    rows = [
        [measured.block, hole["kind"], f"`{hole['where']}`", str(hole["points"])]
        for measured in results
        for hole in _holes(measured)
        if hole["reason"] is None
    ]
    headings = ["block:", "kind:", "where:", "points"]
    return ["## Not waived", table(headings, rows)] if rows else []


def _without_hole(results: Sequence[BlockCoverage]) -> list[str]:
    rows = [
        [measured.block, f"`{pattern}`"]
        for measured in results
        for pattern in _unused_waivers(measured)
    ]
    return ["## Waivers without a hole", table(["block:", "pattern:"], rows)] if rows else []


def as_summary(result: dict[str, Any]) -> str:
    """Summarize the coverage: shares of each block, waivers by size, points without a waiver."""
    holes = [(block["block"], hole) for block in result["blocks"] for hole in block["holes"]]
    waivers, missing = Counter[str](), Counter[str]()
    for name, hole in holes:
        if hole["reason"] is None:
            missing[name] += hole["points"]
        else:
            waivers[hole["reason"]] += hole["points"]
    rows = [
        [
            block["block"],
            *(_share(block[kind]) for kind in ("line", "toggle")),
            f"{block['functional']['hit']} of {block['functional']['points']}",
            str(missing[block["block"]]),
        ]
        for block in result["blocks"]
    ]
    text = (
        f"Each block's cocotb bench ran once on its Verilog, at scale {result['scale']}. Verilator "
        "counts lines and branches, and both changes of every bit. Cover points are the "
        "cases that a bench must reach. Where a block is part of another one, both rows count "
        "it. Each point that is not hit has a waiver, or is not waived. `t3 coverage` also "
        "writes the full page, `coverage.md`."
    )
    headings = ["block:", "lines and branches", "toggles", "cover points", _MISSING]
    largest = [[why, f"{count:,}"] for why, count in waivers.most_common(_SHOWN)]
    parts = [text, table(headings, rows)]
    parts += ["## Largest waivers", f"{_SHOWN} of {len(waivers)}, with the points they waive:"]
    parts += [table(["waiver:", "points"], largest)]
    open_ends = [
        [name, hole["kind"], f"`{hole['where']}`", str(hole["points"])]
        for name, hole in holes
        if hole["reason"] is None
    ]
    if open_ends:
        shown = table(["block:", "kind:", "where:", "points"], open_ends[:_SHOWN])
        parts += ["## Not waived", shown]
    return "\n\n".join(part.strip() for part in parts)


def _share(counts: dict[str, int]) -> str:
    points = counts["points"]
    return f"{counts['hit'] / points:.1%} of {points:,}" if points else MISSING
