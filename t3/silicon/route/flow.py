"""From a mapped netlist to what qflow's tools say of it, placed and routed."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from sysmodel.lib.cache import cache_folder, digest, locked
from sysmodel.lib.errors import ToolError

from .tools import Tools, find_tools
from .vesta import cells_placed, die_um2, period_ns, unrouted

__all__ = ["Routed", "place_and_route"]

_NAME = "block"
_STEPS = (("placement.sh", "-k", "-d"), ("vesta.sh",), ("router.sh",), ("vesta.sh", "-d"))
_DENSITY = 0.5
"""Share of the rows that cells fill. The arbiter has wires at 0.8, too, the bank not at 0.5."""
_ROUTE = f"qrouter::standard_route {_NAME}_route.def false"
_WITHOUT_CLEANUP = f"{_ROUTE} true"
"""What qrouter is told: to route each net twice more, to save vias, is two thirds of its time."""
_LOGS = ("place.log", "sta.log", "route.log", "post_sta.log")


@dataclass(frozen=True)
class Routed:
    """A block that was placed and routed.

    Parameters
    ----------
    cells : int
        Cells, without fillers.
    die_um2 : float
        Area of the die.
    placed_ns, routed_ns : float
        Longest path from flip-flop to flip-flop, setup included, without wires and with those that
        were routed; by vesta.
    """

    cells: int
    die_um2: float
    placed_ns: float
    routed_ns: float


def place_and_route(blif: str) -> Routed:
    """Place and route a netlist of osu018's cells; the result is kept in the cache.

    Raises
    ------
    ToolError
        The tools are missing, or one failed.
    """
    tools = find_tools()
    parameters = (tools.technology / "osu018.par").read_text(encoding="utf-8")
    made_of = digest([], blif, parameters, str((_STEPS, _DENSITY, _WITHOUT_CLEANUP)))
    kept = cache_folder() / "route" / f"{made_of}.json"
    kept.parent.mkdir(parents=True, exist_ok=True)
    with locked(kept.with_suffix(".lock")):
        if not kept.exists():
            with tempfile.TemporaryDirectory(prefix="t3-") as name:
                routed = _route(tools, Path(name), blif)
            partial = kept.with_name(f".{kept.name}.{os.getpid()}")
            partial.write_text(json.dumps(asdict(routed)), encoding="utf-8")
            partial.replace(kept)
    return Routed(**json.loads(kept.read_bytes()))


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
            told = folders["layout"] / f"{_NAME}.cfg"
            told.write_text(_read(told).replace(_ROUTE, _WITHOUT_CLEANUP), encoding="utf-8")
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
        raise ToolError(f"what qflow wrote cannot be read: {error}") from error


def _check(script: str, log: str) -> None:
    """Find out whether a script said that it gave up, before its last line."""
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
