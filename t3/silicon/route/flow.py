"""Flow of qflow's tools: placement, routing and timing of a mapped netlist."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from sysmodel.lib.cache import digest
from sysmodel.lib.errors import ToolError

from ..cached import cached
from .tools import Tools, find_tools
from .vesta import cells_placed, die_um2, period_ns, unrouted

__all__ = ["Routed", "place_and_route"]

_NAME = "block"
_STEPS = (("placement.sh", "-k", "-d"), ("vesta.sh",), ("router.sh",), ("vesta.sh", "-d"))
_DENSITY = 0.5
"""Share of the rows that cells fill. The arbiter is routable at 0.8, the bank not even at 0.5."""
_ROUTE = f"qrouter::standard_route {_NAME}_route.def false"
_WITHOUT_CLEANUP = f"{_ROUTE} true"
"""Command for qrouter without its cleanup, which routes each net twice more to save vias and takes
two thirds of the time."""
_LOGS = ("place.log", "sta.log", "route.log", "post_sta.log")


@dataclass(frozen=True)
class Routed:
    """Placed and routed block.

    Parameters
    ----------
    cells : int
        Number of cells, without fillers.
    die_um2 : float
        Area of the die.
    placed_ns, routed_ns : float
        Longest path from flip-flop to flip-flop by vesta, setup included: without wires, and with
        routed wires.
    """

    cells: int
    die_um2: float
    placed_ns: float
    routed_ns: float


def place_and_route(blif: str) -> Routed:
    """Place and route a netlist of osu018's cells; the cache stores the result.

    Raises
    ------
    ToolError
        A tool is missing or failed.
    """
    tools = find_tools()
    parameters = (tools.technology / "osu018.par").read_text(encoding="utf-8")
    key = digest([], blif, parameters, str((_STEPS, _DENSITY, _WITHOUT_CLEANUP)))
    text = cached("route", key, lambda folder: json.dumps(asdict(_route(tools, folder, blif))))
    return Routed(**json.loads(text))


def _route(tools: Tools, project: Path, blif: str) -> Routed:
    folders = {name: project / name for name in ("source", "synthesis", "layout", "log")}
    for folder in folders.values():
        folder.mkdir()
    variables = {
        "projectpath": project,
        "techname": "osu018",
        "techdir": tools.technology,
        "scriptdir": tools.scripts,
        "bindir": tools.programs(project),
        "sourcedir": folders["source"],
        "synthdir": folders["synthesis"],
        "layoutdir": folders["layout"],
        "logdir": folders["log"],
    }
    _write(project / "qflow_vars.sh", variables)
    _write(project / "project_vars.sh", {"initial_density": _DENSITY})
    _write(folders["synthesis"] / f"{_NAME}_powerground", {"vddnet": '"vdd"', "gndnet": '"gnd"'})
    (folders["log"] / "synth.log").touch()
    (folders["synthesis"] / f"{_NAME}.blif").write_text(blif, encoding="utf-8")
    rules = (tools.technology / "osu018.par").read_text(encoding="utf-8")
    (folders["layout"] / f"{_NAME}.par").write_text(rules, encoding="utf-8")
    logs = []
    for (script, *options), name in zip(_STEPS, _LOGS, strict=True):
        if script == "router.sh":
            commands = folders["layout"] / f"{_NAME}.cfg"
            text = _read(commands).replace(_ROUTE, _WITHOUT_CLEANUP)
            commands.write_text(text, encoding="utf-8")
        tools.run(script, *options, str(project), _NAME)
        logs.append(_read(folders["log"] / name))
        _check(script, logs[-1])
    _, without_wires, routing, with_wires = logs
    if unrouted(routing):
        raise ToolError("qrouter did not route all nets")
    layout = _read(folders["layout"] / f"{_NAME}.def")
    try:
        return Routed(
            cells_placed(layout),
            die_um2(layout),
            period_ns(without_wires),
            period_ns(with_wires),
        )
    except ValueError as error:
        raise ToolError(f"the output of qflow cannot be read: {error}") from error


def _check(script: str, log: str) -> None:
    """Raise the error that a script reports before its last line."""
    lines = log.strip().splitlines()
    if "Premature exit." in lines:
        reason = lines[lines.index("Premature exit.") - 1]
        raise ToolError(f"{script} of qflow stopped: {reason}")


def _write(path: Path, variables: Mapping[str, object]) -> None:
    lines = (f"set {name}={value}\n" for name, value in variables.items())
    path.write_text("".join(lines), encoding="utf-8")


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        raise ToolError(f"qflow wrote no {path.name}") from None
