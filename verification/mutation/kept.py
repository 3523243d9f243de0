"""Finished campaigns, kept as they come, until all are: the same command goes on from there."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import driver
import rtl
import sysmodel
import tb
import verification
from sysmodel.lib.cache import digest
from sysmodel.lib.output import write_json

from .campaign import Outcome
from .netlist import Mutant
from .simulate import Death

__all__ = ["Kept"]

_RUN = "run.json"


def _about(count: int) -> dict[str, Any]:
    """What decides what becomes of mutants, beside their seeds: sources, and how many there are."""
    folders = [Path(one.__path__[0]) for one in (rtl, driver, sysmodel, verification, tb)]
    sources = digest(path for folder in folders for path in folder.rglob("*.py"))
    return {"sources": sources, "mutants": count}


@dataclass(frozen=True)
class Kept:
    """What a run that did not end has left.

    Parameters
    ----------
    folder : Path
        For a file of each campaign; made when it is needed.
    """

    folder: Path

    def seeds(self, *, count: int) -> list[int]:
        """Those of a run of so many mutants, of the sources as they are; none if none is left."""
        found = self._read(_RUN)
        return list(found["seeds"]) if found.items() >= _about(count).items() else []

    def begin(self, seeds: Sequence[int], *, count: int) -> None:
        """Go on with that run, or remove what is there and begin a new one."""
        if self.seeds(count=count) != list(seeds):
            self.remove()
            self.folder.mkdir()
            write_json(self.folder / _RUN, _about(count) | {"seeds": list(seeds)})

    def has(self, block: str, seed: int) -> bool:
        """Whether a campaign has ended."""
        return (self.folder / _file(block, seed)).exists()

    def outcome(self, block: str, seed: int) -> Outcome | None:
        """Of a campaign that has ended."""
        found = self._read(_file(block, seed))
        if not found:
            return None
        return Outcome(
            block,
            seed,
            [Mutant(**one | {"sources": tuple(one["sources"])}) for one in found["mutants"]],
            {int(number): Death(**death) for number, death in found["deaths"].items()},
            set(found["equivalent"]),
            found["seconds"],
        )

    def keep(self, outcome: Outcome) -> None:
        """Put the outcome of a campaign down."""
        record = {
            "mutants": [asdict(mutant) for mutant in outcome.mutants],
            "deaths": {number: asdict(death) for number, death in outcome.deaths.items()},
            "equivalent": sorted(outcome.equivalent),
            "seconds": outcome.seconds,
        }
        write_json(self.folder / _file(outcome.block, outcome.seed), record)

    def remove(self) -> None:
        """Nothing is left."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self, name: str) -> dict[str, Any]:
        """Content of a file; nothing if there is none, or it is damaged."""
        try:
            return dict(json.loads((self.folder / name).read_bytes()))
        except (OSError, ValueError, TypeError):
            return {}


def _file(block: str, seed: int) -> str:
    return f"{block}-{seed}.json"
