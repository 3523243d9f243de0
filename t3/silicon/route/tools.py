"""Tools of Debian's qflow: installed, or unpacked into the cache."""

import os
import shutil
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
"""Packages to download if qflow is not installed. Installing qflow would also install a Yosys that
is too old for the proofs."""

_NEEDED = (
    *("bin/tcsh", "usr/bin/graywolf", "usr/lib/qrouter/qrouternullg"),
    *("usr/lib/qflow/scripts/placement.sh", "usr/lib/qflow/bin/vesta"),
    "usr/share/qflow/tech/osu018/osu018_stdcells.lef",
)
# qrouter's own script starts a program that looks for its Tcl files at a fixed place.
_QROUTER = """#!/bin/bash
for argument in "$@"; do
  shift
  case $argument in -noc* | -nog*) ;; *) set -- "$@" "$argument" ;; esac
done
exec "$QROUTER_LIB_DIR/qrouternullg" "$QROUTER_LIB_DIR/qrouter.tcl" "$@"
"""


@dataclass(frozen=True)
class Tools:
    """Places of the tools.

    Parameters
    ----------
    root : Path
        Folder of their files: ``/`` if the tools are installed.
    """

    root: Path

    @property
    def technology(self) -> Path:
        return self.root / "usr/share/qflow/tech/osu018"

    @property
    def scripts(self) -> Path:
        return self.root / "usr/lib/qflow/scripts"

    def programs(self, folder: Path) -> Path:
        """Make a folder with the programs that the scripts call."""
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
        """Run one of qflow's scripts, which report errors only in their logs."""
        environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
        environment |= {
            "LD_LIBRARY_PATH": ":".join(map(str, (self.root / "usr/lib").glob("*-linux-gnu"))),
            "QROUTER_LIB_DIR": str(self.root / "usr/lib/qrouter"),
            "TWDIR": str(self.root / "usr/lib/graywolf"),
        }
        command = [str(self.root / "bin/tcsh"), "-f", str(self.scripts / script), *arguments]
        run_program(command, env=environment)


def find_tools() -> Tools:
    """Find the installed tools, or download Debian's packages with ``apt-get`` the first time.

    The packages are unpacked, not installed. This needs no privileges and no further dependencies.

    Raises
    ------
    ToolError
        The tools are not installed and cannot be downloaded.
    """
    for program in ("bash", "tclsh"):
        if not shutil.which(program):
            raise _missing(f"{program} is not installed")
    kept = cache_folder() / f"qflow-{digest([], *PACKAGES)}"
    for root in (Path("/"), kept):
        if _is_complete(root):
            return Tools(root)
    for program in ("apt-get", "dpkg-deb"):
        if not shutil.which(program):
            raise _missing(f"{program} is not installed")
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
    done = run_program(command, cwd=folder)
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise _missing(f"{command[0]} says: {last}")


def _missing(reason: str) -> ToolError:
    return ToolError(
        f"NOTHING WAS PLACED AND ROUTED: the tools of qflow are missing, {reason}; "
        "apt-get install qflow qflow-tech-osu018"
    )
