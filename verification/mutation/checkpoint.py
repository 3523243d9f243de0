"""Checkpoint of mutation campaigns: finished campaigns and the seeds of the run in progress."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter

import driver
import rtl
import sysmodel
import tb
import verification
from sysmodel.lib.cache import digest
from sysmodel.lib.checkpoints import Checkpoint

from .campaign import CampaignResult

__all__ = ["CampaignCheckpoint"]

_SEEDS = "seeds"
_RESULT = TypeAdapter(CampaignResult)


def _code(count: int) -> str:
    """Digest of the sources and of the number of mutants, which determines the drawn mutants."""
    folders = [Path(one.__path__[0]) for one in (rtl, driver, sysmodel, verification, tb)]
    return digest((path for folder in folders for path in folder.rglob("*.py")), f"mutants {count}")


class CampaignCheckpoint:
    """File of the campaigns that have ended, kept until all have ended.

    Parameters
    ----------
    count : int
        Number of mutants of each campaign.
    """

    def __init__(self, path: Path, *, count: int):
        self._file = Checkpoint(path, _code(count))

    @property
    def seeds(self) -> list[int]:
        """Seeds of the run in progress; empty if there is none."""
        return list(self._file.results.get(_SEEDS, {}).get(_SEEDS, ()))

    def begin(self, seeds: Sequence[int]) -> None:
        """Resume the run with these seeds, or else discard the file and begin a new run."""
        if self.seeds != list(seeds):
            self.remove()
            with self._file as file:
                file.append(_SEEDS, {_SEEDS: list(seeds)})

    def result(self, block: str, seed: int) -> CampaignResult | None:
        """Result of a campaign, or None if it has not ended."""
        record = self._file.results.get(_identity(block, seed))
        return None if record is None else _RESULT.validate_python(record)

    def save(self, result: CampaignResult) -> None:
        """Write the result of a campaign to the disk."""
        with self._file as file:
            file.append(
                _identity(result.block, result.seed), _RESULT.dump_python(result, mode="json")
            )

    def remove(self) -> None:
        """Remove the file, because all campaigns have ended or another run begins."""
        self._file.remove()


def _identity(block: str, seed: int) -> str:
    return f"{block} {seed}"
