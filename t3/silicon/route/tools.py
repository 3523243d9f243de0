"""The tools of Debian's qflow: installed, or unpacked into the cache."""

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sysmodel.lib.cache import cache_folder, digest, locked
from sysmodel.lib.errors import ToolError
from sysmodel.lib.programs import run_program

__all__ = ["PACKAGES", "Tools", "find_tools"]

PACKAGES = (
    *("qflow", "qflow-tech-osu018", "graywolf", "qrouter", "tcsh"),
    *("libycadgraywolf1", "libgsl27", "libgslcblas0"),
)
"""What is fetched where qflow is not installed. An installed one brings a Yosys of its own along,
too old for the proofs."""

_NEEDED = (
    *("bin/tcsh", "usr/bin/graywolf", "usr/lib/qrouter/qrouternullg"),
    *("usr/lib/qflow/scripts/placement.sh", "usr/lib/qflow/bin/vesta"),
    "usr/share/qflow/tech/osu018/osu018_stdcells.lef",
)
# What qrouter's own script starts looks for its Tcl at a fixed place.
_QROUTER = """#!/bin/bash
for argument in "$@"; do
  shift
  case $argument in -noc* | -nog*) ;; *) set -- "$@" "$argument" ;; esac
done
exec "$QROUTER_LIB_DIR/qrouternullg" "$QROUTER_LIB_DIR/qrouter.tcl" "$@"
"""


@dataclass(frozen=True)
class Tools:
    """Where the tools are.

    Parameters
    ----------
    root : Path
        What lies in ``/`` if they are installed.
    """

    root: Path

    @property
    def technology(self) -> Path:
        return self.root / "usr/share/qflow/tech/osu018"

    @property
    def scripts(self) -> Path:
        return self.root / "usr/lib/qflow/scripts"

    def programs(self, folder: Path) -> Path:
        """A folder, in another one, of the programs that the scripts call."""
        programs = folder / "bin"
        programs.mkdir()
        for program in (self.root / "usr/lib/qflow/bin").iterdir():
            if program.name != "qrouter":
                (programs / program.name).symlink_to(program)
        qrouter = programs / "qrouter"
        qrouter.write_text(_QROUTER, encoding="utf-8")
        qrouter.chmod(0o755)
        return programs

    def run(self, script: str, *arguments: str) -> None:
        """Run one of qflow's scripts, which say in their logs how it went."""
        environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
        environment |= {
            "LD_LIBRARY_PATH": ":".join(map(str, (self.root / "usr/lib").glob("*-linux-gnu"))),
            "QROUTER_LIB_DIR": str(self.root / "usr/lib/qrouter"),
            "TWDIR": str(self.root / "usr/lib/graywolf"),
        }
        command = [str(self.root / "bin/tcsh"), "-f", str(self.scripts / script), *arguments]
        run_program(command, env=environment)


def find_tools() -> Tools:
    """Installed tools, or those of Debian's packages, fetched with ``apt-get`` the first time.

    The packages are unpacked, not installed: it takes no rights, and what they depend on stays
    away.

    Raises
    ------
    ToolError
        They are not installed and cannot be fetched.
    """
    for program in ("bash", "tclsh"):
        if not shutil.which(program):
            raise _missing(f"{program} is not here")
    kept = cache_folder() / f"qflow-{digest([], *PACKAGES)}"
    for root in (Path("/"), kept):
        if _is_complete(root):
            return Tools(root)
    for program in ("apt-get", "dpkg-deb"):
        if not shutil.which(program):
            raise _missing(f"{program} is not here")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with locked(kept.with_name(f".{kept.name}.lock")):
        if not kept.exists():
            with tempfile.TemporaryDirectory(prefix=".qflow-", dir=kept.parent) as name:
                _fetch(Path(name))
                (Path(name) / "root").rename(kept)
    return Tools(kept)


def _is_complete(root: Path) -> bool:
    return all((root / name).exists() for name in _NEEDED)


def _fetch(folder: Path) -> None:
    _run(folder, "apt-get", "download", *PACKAGES)
    for package in folder.glob("*.deb"):
        _run(folder, "dpkg-deb", "-x", package.name, "root")
    if not _is_complete(folder / "root"):
        raise _missing("the packages are other ones than those of Debian 12")


def _run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise _missing(f"{command[0]} says: {last}")


def _missing(reason: str) -> ToolError:
    return ToolError(
        f"NOTHING WAS PLACED AND ROUTED: the tools of qflow are missing, {reason}; "
        "apt-get install qflow qflow-tech-osu018"
    )
