"""Trials: a clone of the project on one system, and the commands to run in it."""

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.support.optional_tools import installed

from . import machine
from .debian import SUITES, Debian
from .results import TrialResult

__all__ = ["Trial", "all_trials"]

_CLONE = "fresh clone/t3"  # with a blank in the path
_LONGEST_LINE = 200


@dataclass(frozen=True)
class Trial:
    """Commands that run one after the other in a clone on one system.

    Attributes
    ----------
    prepare : callable
        Makes the system and the clone from a bundle; its output goes into a log.
    run : callable
        Runs a shell command in the clone; returns its exit code.
    describe : callable
        Returns the system's fields of a result.
    """

    name: str
    commands: tuple[str, ...]
    prepare: Callable[[Path, IO[str]], None]
    run: Callable[[str, IO[str]], int]
    describe: Callable[[], dict[str, str]]

    def results(self, folder: Path, revision: str) -> Iterator[TrialResult]:
        """Run the trial; yield the result of each command as it ends."""
        bundle, logs = folder / "t3.bundle", folder / "logs"
        logs.mkdir(parents=True, exist_ok=True)
        machine.make_bundle(bundle)
        with (logs / f"{self.name}-setup.log").open("w") as log:
            self.prepare(bundle, log)
        for number, command in enumerate(self.commands):
            path = logs / f"{self.name}-{number}.log"
            begin = time.monotonic()
            with path.open("w") as log:
                code = self.run(command, log)
            lines = path.read_text(errors="replace").split("\n")
            yield TrialResult(
                trial=self.name,
                **self.describe(),
                command=_shown(command),
                result=f"fails ({code})" if code else "passes",
                seconds=round(time.monotonic() - begin),
                detail=next(filter(None, reversed(lines)), "")[:_LONGEST_LINE],
                revision=revision,
            )


def _shown(command: str) -> str:
    """Remove the choice of a Python, which has a column of its own."""
    return " ".join(word for word in command.split() if not word.startswith("PYTHON="))


def all_trials(folder: Path) -> list[Trial]:
    """List a trial for each release of Debian, user and set of tools, and for each Python."""
    debian = [
        _debian(Debian(release, tools=tools, folder=folder / "systems"), user)
        for release in SUITES
        for tools in (False, True)
        for user in ("root", "user")
    ]
    return debian + [_python(version, path) for version, path in machine.interpreters().items()]


def _debian(system: Debian, user: str) -> Trial:
    def prepare(bundle: Path, log: IO[str]) -> None:
        system.make(log)
        clone = f"git clone --quiet {system.put(bundle)} '{_CLONE}'"
        # All that an earlier trial has left in the home.
        script = f"find . -mindepth 1 -delete && {clone}"
        if system.run(script, user=user, log=log):
            raise RuntimeError(f"git cannot clone; see {log.name}")

    def run(command: str, log: IO[str]) -> int:
        return system.run(f"cd '{_CLONE}' && {command}", user=user, log=log)

    def describe() -> dict[str, str]:
        versions = system.versions(["python3"])
        tools = system.versions(machine.packages("optional"))
        return {
            "system": f"Debian {system.release}",
            "user": user,
            "python": versions["python3"],
            "tools": ", ".join(f"{name} {tools[name]}" for name in tools) or "none",
        }

    name = f"debian-{system.release}-{user}" + "-tools" * system.tools
    return Trial(name, ("make run", "make test"), prepare, run, describe)


def _python(version: str, program: Path) -> Trial:
    clone = Path("build/fresh/pythons") / version / _CLONE
    folder = machine.ROOT / clone
    environment = os.environ | {"T3_CACHE_DIR": str(folder.parent / "cache")}
    for name in ("MAKEFLAGS", "MAKELEVEL", "VIRTUAL_ENV"):
        environment.pop(name, None)

    def prepare(bundle: Path, log: IO[str]) -> None:
        shutil.rmtree(folder.parent, ignore_errors=True)
        command = ["git", "clone", "--quiet", bundle, folder]
        subprocess.run(command, stdout=log, stderr=log, check=True)

    def run(command: str, log: IO[str]) -> int:
        return subprocess.run(
            command,
            shell=True,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        ).returncode

    def describe() -> dict[str, str]:
        return {
            "system": platform.freedesktop_os_release()["PRETTY_NAME"],
            "user": "root",
            "python": version,
            "tools": ", ".join(installed()) or "none",
        }

    choice = f"PYTHON={program}"
    commands = (f"make {choice} run", f"make {choice} quick")
    return Trial(f"python-{version}", commands, prepare, run, describe)
