"""Report of the placed and routed blocks, as JSON and a page."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rtl.export.revision import made_by
from t3.report.document import Section, Table
from t3.report.markdown import listed, page

from .blocks import BlockRoute

__all__ = ["NOTES", "as_dict", "as_markdown"]

NOTES = (
    "From flip-flop to flip-flop, setup included. The estimate is `t3 timing`'s analysis of these "
    + "cells, before placement; the others are vesta's, without wires and with the routed ones.",
    "qflow of Debian 12: graywolf places, qrouter routes.",
    "Nothing is resized or buffered after placement. The clock is a routed net without a tree of "
    + "buffers; vesta counts its delay where a path begins, and not where it ends.",
    "SRAMs are left out: neither their area nor the paths through them are in the figures.",
    "Of the ports, the clock alone has a pin, and wires to the neighbours are not in the figures: "
    + "with pins for all of its ports, the arbiter's die would be three times as large.",
)


def as_dict(blocks: Sequence[BlockRoute]) -> dict[str, Any]:
    """Convert the blocks to JSON."""
    return {
        "library": "osu018",
        "notes": list(NOTES),
        "blocks": [{**asdict(block), "filled": _filled(block)} for block in blocks],
    }


def as_markdown(blocks: Sequence[BlockRoute]) -> str:
    """Write the blocks as a page."""
    columns = (
        *("block", "cells", "cell area, µm²", "die, µm²", "filled", "SRAMs left out"),
        *("estimate, MHz", "placed, MHz", "routed, MHz"),
    )
    rows = []
    for block in blocks:
        routed = block.routed
        size = (f"{routed.cells:,}", f"{block.cells_um2:,.0f}", f"{routed.die_um2:,.0f}")
        periods = (block.estimate_ns, routed.placed_ns, routed.routed_ns)
        speed = (f"{1e3 / period:.0f}" for period in periods)
        rows.append((block.block, *size, f"{_filled(block):.0%}", str(block.macros), *speed))
    library = "Library osu018 (180 nm), placed and routed by the tools of qflow."
    sections = Section("", library, Table(columns, rows)), Section("", listed(NOTES))
    return page("Blocks placed and routed", made_by("t3 route"), sections)


def _filled(block: BlockRoute) -> float:
    return block.cells_um2 / block.routed.die_um2
