"""Report of the hardware's area, as CSV, JSON and a page."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rtl.export.revision import made_by
from rtl.lib.memories import MEMORY_ROWS
from t3.report.document import Section, Table
from t3.report.markdown import page

from .area import Area
from .cells import Library
from .inventory import Inventory
from .node7 import GATE_UM2, SRAM, SRAM_RANGE, cells_mm2, mm2

__all__ = ["as_csv", "as_dict", "as_markdown"]

TRACKER_BYTES = 19 * 1024
"""Size of the paper's tracker (section 4.2.1: 19 KB)."""
GOAL_MM2 = 0.1
"""Goal for the area of 32 channels, without the arithmetic in memory."""


def tracker_bytes(inventory: Inventory) -> int:
    """Capacity of the tracker's SRAM in bytes."""
    return -(-inventory.tracker().bits // 8)


def totals(inventory: Inventory) -> dict[str, Area]:
    """Sum the areas of the whole hardware, of the tracker, and of the blocks counted apart."""
    sums = {
        "whole, without NMC": inventory.whole(),
        "whole without data": inventory.without_data(),
        "tracker": inventory.tracker(),
    }
    return sums | inventory.apart()


def as_dict(inventory: Inventory, library: Library) -> dict[str, Any]:
    """Convert the inventory to JSON."""
    return {
        "library": library.name,
        "library_sha256": library.checksum,
        "nand2": library.nand2,
        "nand2_um2": library.gate_um2,
        "memory_rows": MEMORY_ROWS,
        "parameters": asdict(inventory.parameters),
        "tracker_bytes": tracker_bytes(inventory),
        "tracker_bytes_paper": TRACKER_BYTES,
        "goal_mm2": GOAL_MM2,
        "node7": {
            "gate_um2": GATE_UM2,
            "sram_um2_per_bit": SRAM.um2_per_bit,
            "sram_single_port_um2_per_bit": SRAM.single_port_um2_per_bit,
            "sram_um2_per_bit_range": [each.um2_per_bit for each in SRAM_RANGE],
        },
        "blocks": [
            {
                "block": block.name,
                "count": block.count(inventory.parameters),
                "inside": block.inside or None,
                "instead_of": block.instead_of or None,
                "apart": block.apart,
                **_figures(inventory.areas[block.name]),
            }
            for block in inventory.blocks
        ],
        "totals": {
            name: {
                **_figures(area),
                "mm2_7nm": mm2(area),
                "mm2_7nm_range": [mm2(area, each) for each in SRAM_RANGE],
            }
            for name, area in totals(inventory).items()
        },
    }


def _figures(area: Area) -> dict[str, float]:
    return {**asdict(area), "ge": area.ge}


def as_csv(inventory: Inventory) -> str:
    """Write a CSV table with a row for each block; the figures count one instance."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        (
            *("block", "inside", "count", "flip_flops", "sram_macros", "sram_bits"),
            *("single_port_bits", "flip_flop_ge", "logic_ge", "cells_um2"),
        )
    )
    for block in inventory.blocks:
        area = inventory.areas[block.name]
        numbers = (area.flip_flops, area.macros, area.bits, area.single_port_bits)
        sizes = (f"{area.flip_flop_ge:.1f}", f"{area.logic_ge:.1f}", f"{area.cells_um2:.2f}")
        count = block.count(inventory.parameters)
        writer.writerow((block.name, block.inside, count, *numbers, *sizes))
    return out.getvalue()


def as_markdown(inventory: Inventory, library: Library) -> str:
    """Write the inventory as a page."""
    p = inventory.parameters
    about = (
        f"{p.channels} channels, {p.contexts} contexts; tracker of {p.sets} sets, {p.ways} ways, "
        f"{p.banks} banks. "
        f"Library {library.name}: one gate equivalent (GE) is {library.nand2}, "
        f"{library.gate_um2:g} µm². Mapped for speed. Memories of {MEMORY_ROWS} rows or more are "
        "SRAM macros, counted in bits, and in no GE or µm²."
    )
    reading = (
        "Figures are of one block, the last column of all. Indented blocks are part of the one "
        "above them."
    )
    used = tracker_bytes(inventory)
    storage = (
        f"Tracker storage: {used:,} bytes of SRAM, {used / TRACKER_BYTES:.0%} of the paper's "
        f"19 KB ({TRACKER_BYTES:,} bytes)."
        if used
        else f"Tracker storage: in flip-flops; its banks have fewer than {MEMORY_ROWS} rows."
    )
    sections = (
        Section("", about, _block_table(inventory)),
        Section("", f"{reading}\n\n{storage}"),
        Section("", _scaling(), _node7_table(inventory)),
    )
    return page(f"Area in {library.name}", made_by("t3 area"), sections)


def _block_table(inventory: Inventory) -> Table:
    counts = ("block", "×", "flip-flops", "SRAM macros", "SRAM bits", "of one port")
    head = (*counts, "flip-flop GE", "logic GE", "µm²", "all, GE")
    rows = []
    for block in inventory.blocks:
        name = f"&emsp;{block.name}" if block.inside else block.name
        if block.instead_of:
            name += f" (instead of {block.instead_of}; not in the sum)"
        if block.apart:
            name += " (apart)"
        count = block.count(inventory.parameters)
        rows.append(_row(name, str(count), inventory.areas[block.name], inventory.of(block)))
    for name, area in totals(inventory).items():
        rows.append(_row(f"**{name}**", "", area, area))
    return Table(head, rows)


def _row(name: str, count: str, area: Area, of_all: Area) -> Sequence[str]:
    figures = (area.flip_flops, area.macros, area.bits, area.single_port_bits)
    sizes = (area.flip_flop_ge, area.logic_ge, area.cells_um2, of_all.ge)
    return name, count, *(f"{each:,}" for each in figures), *(f"{each:,.0f}" for each in sizes)


def _scaling() -> str:
    low, high = (each.um2_per_bit for each in SRAM_RANGE)
    return (
        f"Equivalent in a 7 nm-class process: GE × {GATE_UM2:g} µm² (NAND2xp33 of ASAP7, RVT) + "
        f"SRAM bits × {SRAM.um2_per_bit:.3f} µm² (TSMC's 7 nm cell of {SRAM.cell_um2:g} µm², × "
        f"{SRAM.ports_factor:g} for a second port, {SRAM.array_share:.0%} of a small macro's area "
        f"is array; factor and share are assumptions, in brackets the area for {low:.3f} to "
        f"{high:.3f}), × {SRAM.single_port_um2_per_bit:.3f} µm² where one port writes or reads. "
        "Cells only, no placement."
    )


def _node7_table(inventory: Inventory) -> Table:
    rows = []
    for name, area in totals(inventory).items():
        cells, together = cells_mm2(area), mm2(area)
        low, high = (mm2(area, each) for each in SRAM_RANGE)
        goal = f"{GOAL_MM2:g}" if name.startswith("whole") else ""
        both = f"{together:.4f} ({low:.4f}–{high:.4f})"
        rows.append((name, f"{cells:.4f}", f"{together - cells:.4f}", both, goal))
    return Table(("", "cells, mm²", "SRAM, mm²", "together, mm²", "goal, mm²"), rows)
