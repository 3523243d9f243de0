"""Critical paths as tables."""

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sysmodel.lib.markdown import filled

from .blocks import Measured
from .cells import Library
from .sta import KINDS, Path

__all__ = ["NOTES", "BlockTiming", "as_csv", "as_dict", "as_markdown", "path_text"]

SRAM_FO4 = (8, 14)
"""Rough access time of small SRAM macros: decoder, bit line and sense amplifier of some kbit to
some tens of kbit. Grows by about one gate delay a doubling (Amrutur and Horowitz, "Speed and power
scaling of SRAM's", IEEE J. Solid-State Circuits 35(2), 2000). An estimate of ours, in no figure."""

_SRAM_NOTE = (
    "An SRAM's own access time is left out: its data come at 0. To a path that begins at read data "
    f"add about {SRAM_FO4[0]} to {SRAM_FO4[1]} FO4 (an estimate for small macros)."
)
NOTES = (
    "Before placement: no wires, no clock skew.",
    "Inputs come at 0; a path that ends at a flip-flop includes its setup time.",
    _SRAM_NOTE,
)


@dataclass(frozen=True)
class BlockTiming:
    """A block and its longest paths, longest first."""

    block: Measured
    paths: Sequence[Path]

    @property
    def worst(self) -> Path:
        return self.paths[0]

    def fo4(self, library: Library) -> float:
        return self.worst.delay_ns / library.fo4_ns

    def exceeds(self, library: Library) -> bool:
        return self.fo4(library) > self.block.limit_fo4


def as_dict(timings: Sequence[BlockTiming], library: Library) -> dict[str, Any]:
    """Everything, for JSON."""
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
    """One row for each block and kind of path."""
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


def as_markdown(timings: Sequence[BlockTiming], library: Library) -> str:
    """A page."""
    columns = ("block", "FO4", "limit", "ns", "gates", "from", "to")
    head = (*columns, *(f"{kind.replace('->', '→')}, FO4" for kind in KINDS))
    fo4 = f"FO4 {library.fo4_ns * 1e3:.1f} ps ({library.inverter} driving four of itself)"
    lines = [
        f"# Critical paths in {library.name}",
        "",
        f"Library {library.name}: {fo4}.",
        "",
        "| " + " | ".join(head) + " |",
        "|---|--:|--:|--:|--:|---|---|" + "--:|" * len(KINDS),
    ]
    for timing in timings:
        worst = timing.worst
        kinds = {path.kind: f"{path.delay_ns / library.fo4_ns:.1f}" for path in timing.paths}
        over = " **over**" if timing.exceeds(library) else ""
        cells = (
            timing.block.name,
            f"{timing.fo4(library):.1f}{over}",
            f"{timing.block.limit_fo4:g}",
            f"{worst.delay_ns:.2f}",
            str(worst.gates),
            f"`{worst.start}`",
            f"`{worst.end}`",
            *(kinds.get(kind, "–") for kind in KINDS),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return filled("\n".join([*lines, "", *(f"- {note}" for note in NOTES)]) + "\n")


def path_text(path: Path, library: Library) -> str:
    """A path, cell by cell."""
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
