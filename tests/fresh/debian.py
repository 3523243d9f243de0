"""Minimal systems of Debian in a folder."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from shlex import join, quote
from typing import IO

from . import machine

__all__ = ["SUITES", "Debian"]

SUITES = {"12": "bookworm", "13": "trixie", "testing": "testing"}
_HOMES = {"root": "/root", "user": "/home/user"}
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Name, and upstream's part of the version.
_VERSION = re.compile(r"^Package: (\S+)\n(?:.+\n)*?Version: (?:\d+:)?([\w.]+)", re.MULTILINE)
_INSTALL = "apt-get install --yes --no-install-recommends"


class Debian:
    """Debian with the packages that the documentation names.

    Parameters
    ----------
    release : str
        Key of ``SUITES``.
    tools : bool
        Install the optional tools, too.
    folder : Path
        Folder of all systems; one that was made before is used again.
    """

    def __init__(self, release: str, *, tools: bool, folder: Path):
        self.release, self.tools = release, tools
        self._folder = folder
        self._root = folder / (f"debian-{release}" + "-tools" * tools)

    def make(self, log: IO[str]) -> None:
        """Make the system, unless it exists."""
        if self._root.exists():
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        partial = self._root.with_name(f"{self._root.name}.partial")
        if partial.exists():
            shutil.rmtree(partial)
        if self.tools:
            plain = Debian(self.release, tools=False, folder=self._folder)
            plain.make(log)
            subprocess.run(["cp", "--archive", plain._root, partial], check=True)
            # A release may lack one of them.
            commands = [f"{_INSTALL} {name} || true" for name in machine.packages("optional")]
            script = "; ".join(["apt-get update", *commands])
        else:
            command = ["debootstrap", "--variant=minbase", SUITES[self.release], partial]
            subprocess.run([*command, *machine.mirror()], stdout=log, stderr=log, check=True)
            (partial / "etc/apt/apt.conf.d/99machine").write_text(machine.apt_settings())
            (partial / "etc/pip.conf").write_text(machine.pip_settings())
            needed = join(machine.packages("needed"))
            script = f"apt-get update && {_INSTALL} {needed} && useradd --create-home user"
        unattended = {"DEBIAN_FRONTEND": "noninteractive"}
        if _run(partial, script, unattended, [], user="root", log=log):
            raise RuntimeError(f"{self._root.name} cannot be made; see {log.name}")
        partial.rename(self._root)

    def put(self, file: Path) -> str:
        """Copy a file into the system; return its path there."""
        shutil.copy(file, self._root / file.name)
        return f"/{file.name}"

    def run(self, script: str, *, user: str, log: IO[str]) -> int:
        """Run a shell script as a user, in the user's home, with this machine's settings for pip;
        return its exit code."""
        variables, paths = machine.pip_variables(), machine.pip_paths()
        return _run(self._root, script, variables, paths, user=user, log=log)

    def versions(self, names: Iterable[str]) -> dict[str, str]:
        """Read the versions of those of the packages that are installed."""
        status = (self._root / "var/lib/dpkg/status").read_text(encoding="utf-8")
        found = dict(_VERSION.findall(status))
        return {name: found[name] for name in names if name in found}


def _run(
    root: Path,
    script: str,
    variables: Mapping[str, str],
    paths: Sequence[Path],
    *,
    user: str,
    log: IO[str],
) -> int:
    """Run a shell script in the system of a folder.

    Paths of this machine can be read there. All mounts are private to the script, and end with it.
    """
    mounts = [["mount", "--rbind", "/dev", root / "dev"]]
    mounts += [["mount", "-t", "proc", "proc", root / "proc"]]
    for path in (Path("/etc/resolv.conf"), *paths):
        place = root / path.relative_to("/")
        _make_place(path, place)
        mounts.append(["mount", "--bind", "-o", "ro", path, place])
    environment = {"PATH": _PATH, "HOME": _HOMES[user], "LANG": "C.UTF-8", "USER": user}
    environment |= variables
    inside = ["chroot", f"--userspec={user}:{user}", root, "/usr/bin/env", "-i"]
    inside += [f"{name}={text}" for name, text in environment.items()]
    inside += ["/bin/sh", "-c", f'cd "$HOME" && {script}']
    commands = [*mounts, ["exec", *inside]]
    outside = " && ".join(" ".join(quote(str(word)) for word in command) for command in commands)
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", outside]
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log).returncode


def _make_place(path: Path, place: Path) -> None:
    """Make an empty file or folder on which a path of this machine can be mounted."""
    if path.is_dir():
        place.mkdir(parents=True, exist_ok=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
