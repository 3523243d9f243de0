"""Default library osu018: Oklahoma State University's cells for a 180 nm process."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from sysmodel.lib.cache import cache_folder
from sysmodel.lib.errors import InputError
from sysmodel.lib.programs import run_program

__all__ = ["PACKAGE", "osu018"]

PACKAGE = "qflow-tech-osu018"
_FILE = "osu018_stdcells.lib"
# Checksum of the file in Debian's package 1.3.17, from which all figures of the documentation come.
_SHA256 = "86f79b2000f1ac46715a9f6dfd5f5a596906418e9ee8a8611077bbaaad3de4e9"


def osu018() -> Path:
    """Liberty file of the default library, downloaded with ``apt-get`` the first time.

    Debian's package is downloaded and unpacked, not installed. This needs no privileges and no
    dependencies of the package.

    Raises
    ------
    InputError
        ``apt-get`` is missing or fails, or the package contains another library.
    """
    kept = cache_folder() / "liberty" / _FILE
    if kept.exists() and _checksum(kept) == _SHA256:
        return kept
    for program in ("apt-get", "dpkg-deb"):
        if not shutil.which(program):
            raise _unobtainable(f"{program} is not installed")
    with tempfile.TemporaryDirectory(prefix="t3-") as name:
        folder = Path(name)
        _run(folder, "apt-get", "download", PACKAGE)
        for package in folder.glob("*.deb"):
            _run(folder, "dpkg-deb", "-x", package.name, "unpacked")
        found = next(folder.glob(f"unpacked/**/{_FILE}"), None)
        if found is None:
            raise _unobtainable(f"the package has no {_FILE}")
        if _checksum(found) != _SHA256:
            raise _unobtainable(f"{_FILE} of the package is another version")
        kept.parent.mkdir(parents=True, exist_ok=True)
        partial = kept.with_name(f".{kept.name}.{os.getpid()}")
        shutil.copyfile(found, partial)
        partial.replace(kept)
    return kept


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run(folder: Path, *command: str) -> None:
    done = run_program(command, cwd=folder)
    if done.returncode:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise _unobtainable(f"{command[0]} says: {last}")


def _unobtainable(reason: str) -> InputError:
    return InputError(
        "liberty",
        f"the default library cannot be obtained: {reason}; give a library: --liberty FILE",
    )
