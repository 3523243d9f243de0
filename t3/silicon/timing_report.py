"""Report of the critical paths, as CSV, JSON and a page."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rtl.export.revision import made_by
from t3.report.document import MISSING, Section, Table
from t3.report.markdown import listed, page

from .blocks import MeasuredBlock
from .cells import Library
from .sta import KINDS, Path

__all__ = ["NOTES", "BlockTiming", "as_csv", "as_dict", "as_markdown", "path_text"]

SRAM_FO4 = (8, 14)
"""Estimated access time of small SRAM macros: decoder, bit line and sense amplifier of some kbit to
some tens of kbit. It grows by about one gate delay per doubling (Amrutur and Horowitz, "Speed and
power scaling of SRAM's", IEEE J. Solid-State Circuits 35(2), 2000). No figure includes it."""

_SRAM_NOTE = (
    "An SRAM's own access time is left out: its data come at 0. To a path that begins at read data "
    f"add about {SRAM_FO4[0]} to {SRAM_FO4[1]} FO4 (an estimate for small macros)."
)
_WIDEST = 30  # characters of a name in the table
NOTES = (
    "Before placement: no wires, no clock skew.",
    "Inputs come at 0; a path that ends at a flip-flop includes its setup time.",
    _SRAM_NOTE,
)


@dataclass(frozen=True)
class BlockTiming:
    """Block and its longest paths, longest first."""

    block: MeasuredBlock
    paths: Sequence[Path]

    @property
    def worst(self) -> Path:
        return self.paths[0]

    def fo4(self, library: Library) -> float:
        return self.worst.delay_ns / library.fo4_ns

    def exceeds(self, library: Library) -> bool:
        return self.fo4(library) > self.block.limit_fo4


def as_dict(timings: Sequence[BlockTiming], library: Library) -> dict[str, Any]:
    """Convert the timings to JSON."""
    return {
        "library": library.name,
        "library_sha256": library.checksum,
        "fo4_ns": library.fo4_ns,
        "fo4_inverter": library.inverter,
        "notes": list(NOTES),
        "blocks": [
            {
                "block": timing.block.name,
                "limit_fo4": timing.block.limit_fo4,
                "exceeds": timing.exceeds(library),
                "paths": [
                    {"fo4": path.delay_ns / library.fo4_ns, **asdict(path)} for path in timing.paths
                ],
            }
            for timing in timings
        ],
    }


def as_csv(timings: Sequence[BlockTiming], library: Library) -> str:
    """Write a CSV table with a row for each block and kind of path."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("block", "kind", "fo4", "ns", "gates", "start", "end", "limit_fo4"))
    for timing in timings:
        for path in timing.paths:
            fo4 = path.delay_ns / library.fo4_ns
            row = (path.kind, f"{fo4:.2f}", f"{path.delay_ns:.4f}", path.gates)
            ends = (path.start, path.end, f"{timing.block.limit_fo4:g}")
            writer.writerow((timing.block.name, *row, *ends))
    return out.getvalue()


def _shortened(name: str) -> str:
    """Show only the last part of a hierarchical name that would make the table too wide."""
    parts = name.split(".")
    return f"….{parts[-1]}" if len(name) > _WIDEST and len(parts) > 1 else name


def as_markdown(timings: Sequence[BlockTiming], library: Library) -> str:
    """Write the timings as a page."""
    fo4 = f"FO4 {library.fo4_ns * 1e3:.1f} ps ({library.inverter} driving four of itself)"
    columns = ("block", "FO4", "limit", "ns", "gates", "from:", "to:")
    head = (*columns, *(f"{kind.replace('->', '→')}, FO4" for kind in KINDS))
    rows = [_row(timing, library) for timing in timings]
    sections = (
        Section("", f"Library {library.name}: {fo4}.", Table(head, rows)),
        Section("", listed(NOTES)),
    )
    return page(f"Critical paths in {library.name}", made_by("t3 timing"), sections)


def _row(timing: BlockTiming, library: Library) -> Sequence[str]:
    worst = timing.worst
    kinds = {path.kind: f"{path.delay_ns / library.fo4_ns:.1f}" for path in timing.paths}
    mark = " **over**" if timing.exceeds(library) else ""
    return (
        timing.block.name,
        f"{timing.fo4(library):.1f}{mark}",
        f"{timing.block.limit_fo4:g}",
        f"{worst.delay_ns:.2f}",
        str(worst.gates),
        f"`{_shortened(worst.start)}`",
        f"`{_shortened(worst.end)}`",
        *(kinds.get(kind, MISSING) for kind in KINDS),
    )


def path_text(path: Path, library: Library) -> str:
    """Write a path cell by cell."""
    size = f"{path.delay_ns / library.fo4_ns:.1f} FO4, {path.delay_ns:.3f} ns, {path.gates} gates"
    lines = [
        f"{path.kind}  {path.start} -> {path.end}: {size}",
        f"  {'ns':>7} {'+FO4':>5} {'fanout':>6} {'slew':>6}  cell",
    ]
    total = 0.0
    for stage in path.stages:
        total += stage.delay_ns
        lines.append(
            f"  {total:7.3f} {stage.delay_ns / library.fo4_ns:5.2f} {stage.fanout:6d} "
            f"{stage.slew_ns:6.3f}  {stage.cell} {'^' if stage.rises else 'v'} {stage.net}".rstrip()
        )
    if path.setup_ns:
        total += path.setup_ns
        lines.append(f"  {total:7.3f} {path.setup_ns / library.fo4_ns:5.2f} {'':13}  setup")
    return "\n".join(lines)
