"""Runner of Yosys scripts."""

from pathlib import Path

from sysmodel.lib.yowasp import YOSYS, run_tool

__all__ = ["PROVED", "run_yosys"]

PROVED = "no model found: SUCCESS!"
"""Output of ``sat`` when the property holds."""


def run_yosys(folder: Path, script: str) -> str:
    """Run a script in a folder and return its output.

    Raises
    ------
    ToolError
        Yosys failed.
    """
    path = folder / "script.ys"
    path.write_text(script, encoding="utf-8")
    return run_tool(YOSYS, folder, "-s", path.name)
