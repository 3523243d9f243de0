"""Campaign of a block: draw mutants, simulate them in stages, prove survivors equivalent."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verification.targets import TARGETS

from .equivalence import equivalent
from .netlist import Mutant, mutate
from .simulate import Death, build, simulate

__all__ = ["STAGES", "CampaignResult", "run_block"]

STAGES = ((1, 1), (2, 2), (6, 3))
"""Scale of the bench and offset of its seed in each stage, which simulates the mutants that survive
the previous stage.
"""


@dataclass(frozen=True)
class CampaignResult:
    """Result of a block's campaign with one seed.

    Attributes
    ----------
    deaths : dict
        Test and message that killed each mutant, by its number.
    equivalent : set of int
        Numbers of the mutants that are proved to behave like the block.
    """

    block: str
    seed: int
    mutants: list[Mutant]
    deaths: dict[int, Death]
    equivalent: set[int]
    seconds: float

    @property
    def survivors(self) -> list[Mutant]:
        """Mutants that were neither killed nor proved equivalent."""
        return [
            mutant
            for mutant in self.mutants
            if mutant.number not in self.deaths and mutant.number not in self.equivalent
        ]

    def record(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return {
            "block": self.block,
            "seed": self.seed,
            "mutants": len(self.mutants),
            "killed": len(self.deaths),
            "survived": len(self.survivors),
            "equivalent": len(self.equivalent),
            "seconds": round(self.seconds, 1),
            "survivors": [
                {
                    "number": mutant.number,
                    "mode": mutant.mode,
                    "place": mutant.place,
                    "sources": list(mutant.sources),
                }
                for mutant in self.survivors
            ],
        }


def run_block(name: str, *, count: int, seed: int, folder: Path) -> CampaignResult:
    """Mutate one of :data:`~verification.targets.BLOCKS`.

    The survivors of the first stage are checked for equivalence; the others are simulated longer
    and with other random choices.

    Parameters
    ----------
    count, seed : int
        Number of mutants, and the seed of their choice and of the bench.
    folder : Path
        Folder for intermediate files; it must exist.

    Raises
    ------
    AssertionError
        The bench fails on the unchanged block.
    """
    begin = time.perf_counter()
    target = TARGETS[name]
    mutants, verilog = mutate(target.make(), name, count=count, seed=seed, folder=folder)
    build(verilog, name, folder)
    deaths: dict[int, Death] = {}
    same: set[int] = set()
    left = mutants
    for number, (scale, offset) in enumerate(STAGES):
        if not left:
            break
        numbers = [mutant.number for mutant in left]
        deaths |= simulate(
            target.module, name, numbers, scale=scale, seed=seed + offset, folder=folder
        )
        left = [mutant for mutant in left if mutant.number not in deaths]
        if number == 0:
            same = equivalent(left, name, folder)
            left = [mutant for mutant in left if mutant.number not in same]
    return CampaignResult(name, seed, mutants, deaths, same, time.perf_counter() - begin)
